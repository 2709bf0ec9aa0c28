// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/pair_table.h"
#include "text/tokenizer.h"

namespace cupel::text {

/// Byte strings with ids, for finding all that start at a place of a text.
class Trie {
 public:
  Trie() { roots_.fill(-1); }
  /// A repeated text takes the new id.
  void add(std::string_view text, Token id) {
    int32_t node = -1;
    for (const char c : text) node = child_or_new(node, static_cast<unsigned char>(c));
    if (node >= 0) ids_[static_cast<std::size_t>(node)] = id;
  }
  bool starts(char first) const { return roots_[static_cast<unsigned char>(first)] >= 0; }
  /// found(end, id) for each string that stands in `text` at `start`, short ones first.
  template <class Found>
  void each_prefix(std::string_view text, std::size_t start, const Found& found) const {
    int32_t node = -1;
    for (std::size_t i = start; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node < 0) return;
      if (ids_[static_cast<std::size_t>(node)] >= 0)
        found(i + 1, ids_[static_cast<std::size_t>(node)]);
    }
  }
  bool empty() const { return ids_.empty(); }

 private:
  int32_t child(int32_t node, unsigned char c) const {
    if (node < 0) return roots_[c];
    const int32_t* to = edges_.find(static_cast<uint64_t>(node), c);
    return to ? *to : -1;
  }
  int32_t child_or_new(int32_t node, unsigned char c) {
    const int32_t there = child(node, c);
    if (there >= 0) return there;
    const auto fresh = static_cast<int32_t>(ids_.size());
    ids_.push_back(-1);
    if (node < 0)
      roots_[c] = fresh;
    else
      edges_.set(static_cast<uint64_t>(node), c, fresh);
    return fresh;
  }

  std::array<int32_t, 256> roots_;
  PairTable<int32_t> edges_;  // (node, byte) to node
  std::vector<Token> ids_;    // by node, -1 where no string ends
};

}  // namespace cupel::text
