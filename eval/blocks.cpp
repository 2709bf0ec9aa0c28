// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/blocks.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "eval/harness/requests.h"

namespace cupel::eval {

namespace {

using Tokens = std::vector<text::Token>;

void check_options(const PerplexityOptions& options, int64_t limit) {
  const int64_t shortest = options.protocol == Protocol::words  ? 1
                           : options.protocol == Protocol::gptq ? 2
                                                                : 3;
  CUPEL_CHECK(options.length >= shortest, user, "a block of ", options.length,
              " tokens leaves nothing to score; the protocol '", protocol_name(options.protocol),
              "' needs at least ", shortest);
  CUPEL_CHECK(options.length <= limit, user, "blocks of ", options.length,
              " tokens are longer than the model's ", limit, " positions");
  CUPEL_CHECK(options.blocks >= 0, user, "the number of blocks must be 0 (all) or more, not ",
              options.blocks);
}

/// Blocks of `length`, the tail dropped; predictions from position `from` count.
std::vector<Block> cut(const Tokens& ids, int64_t length, int64_t from, const std::string& name) {
  const int64_t there = static_cast<int64_t>(ids.size()) / length;
  CUPEL_CHECK(there > 0, user, "'", name, "' has ", ids.size(), " tokens, less than one block of ",
              length, "; use a smaller --length or more text");
  std::vector<Block> out;
  for (int64_t b = 0; b < there; ++b) {
    const auto begin = ids.begin() + b * length, end = begin + length;
    // The last token is only predicted: what follows it lies outside the block.
    out.push_back({Tokens(begin, end - 1),
                   from,
                   Tokens(begin + from + 1, end),
                   {0, b * length, length - 1 - from}});
  }
  return out;
}

/// Each token is scored once. Every window predicts the next `length` tokens and is given the one
/// before them; the last one is filled to the left with real context (lm-eval's rolling
/// log-likelihood).
void add_rolling(const Tokens& text, text::Token prefix, int64_t length, int64_t document,
                 std::vector<Block>& out) {
  Tokens all = {prefix};
  all.insert(all.end(), text.begin(), text.end());
  const auto n = static_cast<int64_t>(text.size());
  for (int64_t begin = 0; begin < n; begin += length) {
    const int64_t end = std::min(begin + length, n);
    const int64_t start = end == n ? std::max<int64_t>(0, n - length) : begin;
    out.push_back({Tokens(all.begin() + start, all.begin() + end),
                   begin - start,
                   Tokens(all.begin() + begin + 1, all.begin() + end + 1),
                   {document, start - 1, end - begin}});
  }
}

/// What the tokenizer puts before a text by itself.
Tokens added_in_front(const text::Tokenizer& tokenizer) {
  const Tokens plain = tokenizer.encode("a"), all = tokenizer.encode("a", {false, true});
  return Tokens(all.begin(), std::search(all.begin(), all.end(), plain.begin(), plain.end()));
}

/// What stands before the text that is not of it (BlockList::prepended).
Tokens prepended(const text::Tokenizer& tokenizer, const PerplexityOptions& options) {
  Tokens added = added_in_front(tokenizer);
  const bool bos = tokenizer.bos() >= 0 && !added.empty() && added.front() == tokenizer.bos();
  switch (options.protocol) {
    case Protocol::gptq:
      return added;
    case Protocol::llamacpp:
      return bos ? Tokens{tokenizer.bos()} : Tokens{};
    case Protocol::words:
      break;
  }
  if (options.bos == RollingBos::once) added.clear();
  added.insert(added.begin(), prefix_token(tokenizer));
  return added;
}

std::vector<Block> cut_one_text(const Tokens& front, const std::vector<Tokens>& ids,
                                const std::string& name, const PerplexityOptions& options) {
  CUPEL_CHECK(ids.size() == 1, user, "the protocol '", protocol_name(options.protocol),
              "' reads one plain text, but '", name, "' is a file of ", ids.size(),
              " pages; use the protocol 'words'");
  const bool half = options.protocol == Protocol::llamacpp;
  auto blocks = cut(ids[0], options.length, half ? options.length / 2 : 0, name);
  if (half && !front.empty())
    for (Block& b : blocks) b.ids.front() = front[0];
  return blocks;
}

std::vector<Block> cut_documents(const Tokens& front, const std::vector<Tokens>& ids,
                                 const std::string& name, const PerplexityOptions& options) {
  std::vector<Block> blocks;
  for (std::size_t d = 0; d < ids.size(); ++d)
    add_rolling(ids[d], front[0], options.length, static_cast<int64_t>(d), blocks);
  CUPEL_CHECK(!blocks.empty(), user, "'", name, "' is empty");
  return blocks;
}

std::vector<Tokens> encode_all(const text::Tokenizer& tokenizer, const Corpus& corpus,
                               bool add_special) {
  std::vector<Tokens> out;
  for (const CorpusDocument& d : corpus.documents)
    out.push_back(tokenizer.encode(d.text, {false, add_special}));
  return out;
}

std::string hash_of(const std::vector<Tokens>& ids) {
  Sha256 hash;
  for (const Tokens& document : ids) {
    const auto size = static_cast<int64_t>(document.size());
    hash.add(std::as_bytes(std::span(&size, 1))).add(std::as_bytes(std::span(document)));
  }
  return hash.hex();
}

BlockList list_of(const std::vector<Block>& blocks, const std::vector<Tokens>& ids,
                  const Corpus& corpus, const PerplexityOptions& options) {
  BlockList list{options.protocol, options.length, options.bos, corpus.sha256, hash_of(ids)};
  for (const Tokens& document : ids) list.text_tokens += static_cast<int64_t>(document.size());
  list.documents = static_cast<int64_t>(ids.size());
  for (const Block& b : blocks) list.blocks.push_back(b.place);
  return list;
}

void keep_first(std::vector<Block>& blocks, const Corpus& corpus, int64_t wanted) {
  if (wanted == 0) return;
  CUPEL_CHECK(!corpus.pages, user, "a number of blocks would cut the pages of '", corpus.name,
              "' apart, whose words are counted whole; give a number of documents");
  const auto there = static_cast<int64_t>(blocks.size());
  CUPEL_CHECK(wanted <= there, user, "'", corpus.name, "' has ", there, " blocks, fewer than the ",
              wanted, " asked for");
  blocks.resize(static_cast<std::size_t>(wanted));
}

}  // namespace

TextBlocks blocks_of(const text::Tokenizer& tokenizer, const Corpus& corpus,
                     const PerplexityOptions& options, int64_t limit) {
  check_options(options, limit);
  const bool rolling = options.protocol == Protocol::words;
  // A rolling window brings its own prefix.
  const auto ids = encode_all(tokenizer, corpus, !rolling || options.bos == RollingBos::compat);
  const Tokens front = prepended(tokenizer, options);
  auto blocks = (rolling ? cut_documents : cut_one_text)(front, ids, corpus.name, options);
  keep_first(blocks, corpus, options.blocks);
  BlockList list = list_of(blocks, ids, corpus, options);
  list.prepended = front;
  return {std::move(blocks), std::move(list)};
}

void keep_listed(TextBlocks& all, const BlockList& list, const std::string& file) {
  check_same_text(all.list, list, file);
  std::map<BlockPlace, Block*> there;
  for (Block& b : all.blocks) there[b.place] = &b;
  std::vector<Block> kept;
  for (const BlockPlace& p : list.blocks) {
    const auto found = there.find(p);
    CUPEL_CHECK(found != there.end(), user, "'", file, "' lists a block of ", p.count,
                " scored tokens that starts at token ", p.first, " of document ", p.document,
                "; the text has none there, or the list names it twice");
    kept.push_back(std::move(*found->second));
    there.erase(found);
  }
  all.blocks = std::move(kept);
  all.list.blocks = list.blocks;
}

}  // namespace cupel::eval
