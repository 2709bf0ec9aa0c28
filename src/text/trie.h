// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::text {

/// Byte strings with ids, for finding all that start at a place of a text: a double array, where
/// the child of a node for byte c is unit base ^ c, if that unit names the node as its parent.
class Trie {
 public:
  using Entries = std::vector<std::pair<std::string_view, Token>>;
  /// Of a repeated text the last id counts; empty texts are left out.
  explicit Trie(Entries entries = {}) : units_(kBlock) {
    units_[0].parent = kRootsParent;
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::erase_if(entries, [](const auto& e) { return e.first.empty(); });
    std::vector<Range> open{{0, entries.size(), 0, 0}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      add_children(entries, range, open);
    }
  }
  bool starts(char first) const { return child(0, first) > 0; }
  /// found(end, id) for each string that stands in `text` at `start`, short ones first.
  template <class Found>
  void each_prefix(std::string_view text, std::size_t start, const Found& found) const {
    uint32_t node = 0;
    for (std::size_t i = start; i < text.size(); ++i) {
      node = child(node, text[i]);
      if (node == 0) return;
      if (units_[node].id >= 0) found(i + 1, units_[node].id);
    }
  }
  bool empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kWindow = 4 * kBlock;  // units that are searched for free places
  static constexpr int32_t kFree = -1, kRootsParent = -2;
  struct Unit {
    int32_t parent = kFree;
    uint32_t base = 0;
    Token id = -1;  // of the string that ends here, -1 if none does
  };
  /// Sorted entries that share their first `depth` bytes, which lead to `node`.
  struct Range {
    std::size_t begin, end, depth;
    uint32_t node;
  };
  static unsigned char byte(char c) { return static_cast<unsigned char>(c); }
  /// 0 if there is none; the units of a base lie in one block, so none is out of range.
  uint32_t child(uint32_t node, char c) const {
    const uint32_t to = units_[node].base ^ byte(c);
    return units_[to].parent == static_cast<int32_t>(node) ? to : 0;
  }

  void add_children(const Entries& entries, Range range, std::vector<Range>& open) {
    std::vector<Range> children;
    std::vector<unsigned char> labels;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::string_view text = entries[i].first;
      if (text.size() == range.depth) continue;
      const unsigned char c = byte(text[range.depth]);
      if (labels.empty() || labels.back() != c) {
        labels.push_back(c);
        children.push_back({i, i, range.depth + 1, 0});
      }
      children.back().end = i + 1;
    }
    if (labels.empty()) return;
    const uint32_t base = free_base(labels);
    units_[range.node].base = base;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      Range& child = children[k];
      child.node = base ^ labels[k];
      Unit& unit = units_[child.node];
      unit.parent = static_cast<int32_t>(range.node);
      ++used_;
      for (std::size_t i = child.begin; i < child.end; ++i)
        if (entries[i].first.size() == child.depth) unit.id = entries[i].second;
      open.push_back(child);
    }
  }

  uint32_t free_base(const std::vector<unsigned char>& labels) {
    const auto is_free = [&](std::size_t at) { return units_[at].parent == kFree; };
    const std::size_t end = units_.size();
    first_ = std::max(first_, end - std::min(end, kWindow));
    while (first_ < end && !is_free(first_)) ++first_;
    for (std::size_t at = first_; at < end; ++at) {
      if (!is_free(at)) continue;
      const std::size_t base = at ^ labels[0];
      if (std::all_of(labels.begin(), labels.end(),
                      [&](unsigned char c) { return is_free(base ^ c); }))
        return static_cast<uint32_t>(base);
    }
    units_.resize(end + kBlock);
    return static_cast<uint32_t>(end);
  }

  std::vector<Unit> units_;
  std::size_t used_ = 0;   // without the root
  std::size_t first_ = 0;  // where the search for free units begins
};

}  // namespace cupel::text
