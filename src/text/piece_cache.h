// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::text {

/// Tokens of the pieces seen lately in one text: natural text repeats its words. Direct mapped;
/// long pieces are not kept. Small texts get none, setting it up would cost more than it saves.
class PieceCache {
 public:
  explicit PieceCache(std::size_t text_bytes) {
    if (text_bytes >= kSmallText) entries_.resize(kEntries);
  }

  /// Appends the tokens and returns true if the piece is known.
  bool get(std::string_view piece, std::vector<Token>& out) const {
    if (entries_.empty() || piece.size() > kLongest) return false;
    const Entry& e = entries_[slot(piece)];
    if (e.length != piece.size() || std::memcmp(e.text.data(), piece.data(), piece.size()) != 0)
      return false;
    out.insert(out.end(), e.tokens.begin(), e.tokens.begin() + e.count);
    return true;
  }
  void put(std::string_view piece, std::span<const Token> tokens) {
    if (entries_.empty() || piece.size() > kLongest || tokens.size() > kMostTokens) return;
    Entry& e = entries_[slot(piece)];
    e.length = static_cast<uint8_t>(piece.size());
    e.count = static_cast<uint8_t>(tokens.size());
    std::memcpy(e.text.data(), piece.data(), piece.size());
    std::copy(tokens.begin(), tokens.end(), e.tokens.begin());
  }

 private:
  static constexpr std::size_t kEntries = 1 << 12, kLongest = 30, kMostTokens = 8,
                               kSmallText = 1 << 13;
  struct Entry {
    uint8_t length = 0, count = 0;  // length 0 is free: no piece is empty
    std::array<char, kLongest> text;
    std::array<Token, kMostTokens> tokens;
  };
  static std::size_t slot(std::string_view piece) {
    return std::hash<std::string_view>()(piece) & (kEntries - 1);
  }
  std::vector<Entry> entries_;
};

}  // namespace cupel::text
