// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/block_list.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::eval {

namespace {

using nlohmann::ordered_json;

const ordered_json& member(const ordered_json& object, const char* key) {
  CUPEL_CHECK(object.is_object() && object.contains(key), data, "the block list has no '", key,
              "'");
  return object[key];
}

int64_t number(const ordered_json& object, const char* key, int64_t least) {
  const ordered_json& v = member(object, key);
  CUPEL_CHECK(v.is_number_integer() && v.get<int64_t>() >= least, data, "the block list's '", key,
              "' is not a whole number from ", least, " on");
  return v.get<int64_t>();
}

std::string text(const ordered_json& object, const char* key) {
  const ordered_json& v = member(object, key);
  CUPEL_CHECK(v.is_string(), data, "the block list's '", key, "' is not a text");
  return v.get<std::string>();
}

BlockList block_list_of(const ordered_json& json) {
  BlockList out;
  out.protocol = protocol_from_name(text(json, "protocol"));
  out.length = number(json, "length", 1);
  if (out.protocol == Protocol::words) out.bos = rolling_bos_from_name(text(json, "rolling_bos"));
  const ordered_json& of = member(json, "text");
  out.text_sha256 = text(of, "sha256");
  out.ids_sha256 = text(of, "ids_sha256");
  out.text_tokens = number(of, "tokens", 0);
  out.documents = number(of, "documents", 1);
  const ordered_json& blocks = member(json, "block_list");
  CUPEL_CHECK(blocks.is_array() && !blocks.empty(), data, "the block list is empty");
  for (const ordered_json& b : blocks)
    out.blocks.push_back({number(b, "document", 0), number(b, "first", -1), number(b, "count", 1)});
  return out;
}

/// Every perplexity entry of one result or a list of them.
std::vector<const ordered_json*> entries_of(const ordered_json& root) {
  std::vector<const ordered_json*> out;
  const auto add = [&](const ordered_json& result) {
    if (!result.is_object() || !result.contains("perplexity")) return;
    for (const ordered_json& entry : result["perplexity"])
      if (entry.is_object() && entry.contains("block_list")) out.push_back(&entry);
  };
  if (root.is_array())
    for (const ordered_json& result : root) add(result);
  else
    add(root);
  return out;
}

}  // namespace

std::string block_list_json(const BlockList& list) {
  ordered_json out = {{"protocol", protocol_name(list.protocol)}, {"length", list.length}};
  if (list.protocol == Protocol::words) out["rolling_bos"] = rolling_bos_name(list.bos);
  out["prepended"] = list.prepended;
  out["text"] = {{"sha256", list.text_sha256},
                 {"ids_sha256", list.ids_sha256},
                 {"tokens", list.text_tokens},
                 {"documents", list.documents}};
  out["block_list"] = ordered_json::array();
  for (const BlockPlace& b : list.blocks)
    out["block_list"].push_back({{"document", b.document}, {"first", b.first}, {"count", b.count}});
  return out.dump();
}

BlockList block_list_from_json(std::string_view json) {
  const auto root = ordered_json::parse(json, nullptr, false);
  CUPEL_CHECK(!root.is_discarded(), data, "the block list is not JSON");
  return block_list_of(root);
}

BlockList find_block_list(std::string_view json, const std::string& file,
                          const std::string& text_sha256) {
  const auto root = ordered_json::parse(json, nullptr, false);
  CUPEL_CHECK(!root.is_discarded(), data, "'", file, "' is not JSON");
  const auto entries = entries_of(root);
  CUPEL_CHECK(!entries.empty(), data, "'", file,
              "' has no block list; a file that 'cupel eval --perplexity TEXT --json FILE' wrote "
              "has one");
  for (const ordered_json* entry : entries) {
    const BlockList list = in_frame(cat("reading the block list in '", file, "'"),
                                    [&] { return block_list_of(*entry); });
    if (list.text_sha256 == text_sha256) return list;
  }
  fail(Fault::user, "'", file, "' has block lists of other texts only: none has the SHA-256 ",
       text_sha256);
}

void check_same_text(const BlockList& ours, const BlockList& other, const std::string& theirs) {
  const auto same = [&](const auto& a, const auto& b, const char* what) {
    CUPEL_CHECK(a == b, user, what, " is ", a, ", but ", b, " in '", theirs, "'");
  };
  same(ours.text_sha256, other.text_sha256, "the text's SHA-256");
  same(protocol_name(ours.protocol), protocol_name(other.protocol), "the protocol");
  same(ours.length, other.length, "the length of a block");
  same(rolling_bos_name(ours.bos), rolling_bos_name(other.bos), "the rolling BOS");
  same(ours.documents, other.documents, "the number of documents");
  same(ours.text_tokens, other.text_tokens, "the number of tokens in the text");
  CUPEL_CHECK(ours.ids_sha256 == other.ids_sha256, user, "the text's token ids are not those of '",
              theirs, "': it belongs to another tokenizer");
}

}  // namespace cupel::eval
