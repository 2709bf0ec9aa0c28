// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"
#include "text/model.h"

namespace cupel::text {
namespace {
// Ids may leave holes, but a short file must not ask for a large table.
constexpr int64_t kMostHoles = 1 << 20;
}  // namespace

Vocabulary::Vocabulary(const std::vector<std::pair<std::string, int64_t>>& entries) {
  std::size_t bytes = 0;
  int64_t largest = -1;
  const int64_t end = 2 * static_cast<int64_t>(entries.size()) + kMostHoles;
  for (const auto& [text, id] : entries) {
    CUPEL_CHECK(id >= 0 && id < end, data, "tokenizer: id ", id, " of '", text,
                "' is out of range");
    largest = std::max(largest, id);
    bytes = checked_add(bytes, text.size(), "tokenizer vocabulary");
  }
  CUPEL_CHECK(bytes < UINT32_MAX, data, "tokenizer: the vocabulary is larger than 4 GiB");
  texts_.reserve(bytes);
  spans_.resize(static_cast<std::size_t>(largest + 1));
  slots_.assign(std::bit_ceil(entries.size() * 2 + 1), -1);
  for (const auto& [text, id] : entries) {
    Token& at = slots_[slot(text)];
    if (at < 0) ++entries_;
    at = static_cast<Token>(id);
    spans_[static_cast<std::size_t>(id)] = {static_cast<uint32_t>(texts_.size()),
                                            static_cast<uint32_t>(text.size()), true};
    texts_ += text;
  }
}

std::size_t Vocabulary::slot(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = std::hash<std::string_view>()(text) & mask;
  while (slots_[at] >= 0 && this->text(slots_[at]) != text) at = (at + 1) & mask;
  return at;
}

Token Vocabulary::find(std::string_view text) const {
  return slots_.empty() ? -1 : slots_[slot(text)];
}

std::string_view Vocabulary::text(Token id) const {
  if (!has(id)) return {};
  const Span& s = spans_[static_cast<std::size_t>(id)];
  return std::string_view(texts_).substr(s.start, s.length);
}

bool Vocabulary::has(Token id) const {
  return id >= 0 && static_cast<std::size_t>(id) < spans_.size() &&
         spans_[static_cast<std::size_t>(id)].known;
}

std::string byte_token(unsigned char byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

}  // namespace cupel::text
