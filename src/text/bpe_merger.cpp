// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/bpe_merger.h"

#include <functional>

namespace cupel::text {
namespace {

constexpr std::size_t kLongPiece = 4096;  // symbols from which the buckets are faster than the heap

// For std::push_heap, which keeps the largest in front.
bool after(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

}  // namespace

void HeapQueue::push(const Candidate& c) {
  heap_.push_back(c);
  std::push_heap(heap_.begin(), heap_.end(), after);
}

bool HeapQueue::pop(Candidate& out) {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), after);
  out = heap_.back();
  heap_.pop_back();
  return true;
}

void BucketQueue::clear() {
  buckets_.clear();
  ranks_.clear();
}

void BucketQueue::push(const Candidate& c) {
  Bucket& bucket = buckets_[c.rank];
  if (bucket.empty()) {
    bucket = {};
    ranks_.push_back(c.rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  }
  if (!bucket.open) {
    bucket.sorted.emplace_back(c.position, c.result);
    return;
  }
  bucket.late.emplace_back(c.position, c.result);
  std::push_heap(bucket.late.begin(), bucket.late.end(), std::greater<>());
}

bool BucketQueue::pop(Candidate& out) {
  if (ranks_.empty()) return false;
  const uint32_t rank = ranks_.front();
  Bucket& bucket = buckets_[rank];
  if (!std::exchange(bucket.open, true) &&
      !std::is_sorted(bucket.sorted.begin(), bucket.sorted.end()))
    std::sort(bucket.sorted.begin(), bucket.sorted.end());
  const bool has_sorted = bucket.at < bucket.sorted.size();
  const bool take_late =
      !bucket.late.empty() && (!has_sorted || bucket.late.front() < bucket.sorted[bucket.at]);
  const auto [position, result] = take_late ? bucket.late.front() : bucket.sorted[bucket.at];
  out = {rank, position, result};
  if (take_late) {
    std::pop_heap(bucket.late.begin(), bucket.late.end(), std::greater<>());
    bucket.late.pop_back();
  } else {
    ++bucket.at;
  }
  if (bucket.empty()) {
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    ranks_.pop_back();
  }
  return true;
}

void BpeMerger::add(Token left, Token right, Merge merge, char32_t left_last,
                    char32_t right_first) {
  table_.set(static_cast<uint32_t>(left), static_cast<uint32_t>(right), merge);
  seams_.set(left_last, right_first, 1);
}

template <class Queue>
void BpeMerger::run_with(Queue& queue, std::span<Symbol> symbols) const {
  const auto at = [&](int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto merge_of = [&](int32_t left, int32_t right) {
    return find(at(left).id, at(right).id);
  };
  const auto consider = [&](int32_t left, int32_t right) {
    if (const Merge* m = merge_of(left, right)) queue.push({m->rank, left, m->result});
  };
  queue.clear();
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i) consider(i, i + 1);
  for (Candidate best; queue.pop(best);) {
    Symbol& left = at(best.position);
    if (left.id < 0 || left.next < 0) continue;
    // Entries are not removed when a neighbour changes; one that no longer holds is passed over
    // here.
    const Merge* now = merge_of(best.position, left.next);
    if (!now || now->result != best.result) continue;
    Symbol& right = at(left.next);
    left.id = best.result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.position;
    if (left.previous >= 0) consider(left.previous, best.position);
    if (left.next >= 0) consider(best.position, left.next);
  }
}

void BpeMerger::run(std::span<Symbol> symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() < kLongPiece) {
    thread_local HeapQueue heap;
    return run_with(heap, symbols);
  }
  BucketQueue buckets;
  run_with(buckets, symbols);
}

}  // namespace cupel::text
