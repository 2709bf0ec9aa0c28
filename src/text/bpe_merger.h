// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/pair_table.h"
#include "text/tokenizer.h"

namespace cupel::text {

struct Merge {
  uint32_t rank = 0;
  Token result = -1;
};

/// The symbols of a piece as a linked list in one array; one that was merged into its left
/// neighbour has id -1.
struct Symbol {
  Token id = -1;
  int32_t previous = -1, next = -1;  // -1 at the ends
};

/// A pair of neighbours that may merge; `position` is the left one's.
struct Candidate {
  uint32_t rank;
  int32_t position;
  Token result;
};

/// Candidates by rank, then position, in one binary heap: best while it fits the cache.
class HeapQueue {
 public:
  void clear() { heap_.clear(); }
  void push(const Candidate& c);
  bool pop(Candidate& out);

 private:
  std::vector<Candidate> heap_;
};

/// The same order for very long pieces. Candidates of one rank arrive mostly from left to right, so
/// a bucket per rank that is sorted once makes the work nearly linear; what arrives while its
/// bucket is being emptied goes to a small heap.
class BucketQueue {
 public:
  void clear();
  void push(const Candidate& c);
  bool pop(Candidate& out);

 private:
  using Entry = std::pair<int32_t, Token>;  // position, result
  struct Bucket {
    bool open = false;          // being emptied
    std::size_t at = 0;         // of `sorted`, the next one
    std::vector<Entry> sorted;  // sorted once open
    std::vector<Entry> late;    // a heap
    bool empty() const { return at == sorted.size() && late.empty(); }
  };
  std::unordered_map<uint32_t, Bucket> buckets_;
  std::vector<uint32_t> ranks_;  // a heap of the ranks whose bucket holds something
};

/// The merges of a BPE model, and how they are applied.
class BpeMerger {
 public:
  void reserve(std::size_t merges) { table_.reserve(merges); }
  /// `left_last` and `right_first` are the characters that meet inside the merged token.
  void add(Token left, Token right, Merge merge, char32_t left_last, char32_t right_first);
  /// False if no merge can ever join a token that ends with one character to a token that starts
  /// with the other.
  bool joins(char32_t left_last, char32_t right_first) const {
    return seams_.find(left_last, right_first) != nullptr;
  }
  /// Null if the two do not merge.
  const Merge* find(Token left, Token right) const {
    return table_.find(static_cast<uint32_t>(left), static_cast<uint32_t>(right));
  }
  /// Merges neighbours until nothing merges: smallest rank first, leftmost on ties.
  void run(std::span<Symbol> symbols) const;

 private:
  template <class Queue>
  void run_with(Queue& queue, std::span<Symbol> symbols) const;

  PairTable<Merge> table_;
  PairTable<char> seams_;
};

}  // namespace cupel::text
