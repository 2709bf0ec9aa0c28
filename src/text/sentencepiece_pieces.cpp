// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"
#include "text/sentencepiece.h"

namespace cupel::text {
namespace {

std::vector<std::pair<std::string, int64_t>> numbered(const ModelTables& tables) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& entry : tables.scores)
    out.emplace_back(entry.first, static_cast<int64_t>(out.size()));
  return out;
}

}  // namespace

SentencePieces::SentencePieces(const Part& part, const ModelTables& tables)
    : vocabulary(numbered(tables)), kinds(tables.scores.size(), Kind::normal) {
  part.known({"vocab", "unk_id", "byte_fallback", "user_defined", "unused", "reserved"});
  const auto checked = [&](int64_t id, const char* key) {
    if (id < 0 || id >= static_cast<int64_t>(kinds.size()))
      part.refuse(cat("'", key, "': id ", id, " is not in the vocabulary"));
    return static_cast<Token>(id);
  };
  const auto mark = [&](const char* key, Kind kind) {
    for (const int64_t id : part.integers(key))
      kinds[static_cast<std::size_t>(checked(id, key))] = kind;
  };
  mark("user_defined", Kind::user_defined);
  mark("unused", Kind::unused);
  mark("reserved", Kind::reserved);
  byte_fallback = part.flag("byte_fallback");
  unknown = checked(part.integer("unk_id"), "unk_id");
  for (const auto& [piece, score] : tables.scores) scores.push_back(static_cast<float>(score));
}

}  // namespace cupel::text
