// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace cupel::text {

/// A hash table from pairs of 32-bit numbers to small values, open addressing; made for look-ups.
template <class Value>
class PairTable {
 public:
  void reserve(std::size_t entries) {
    rehash(std::bit_ceil(std::max<std::size_t>(entries * 2, 16)));
  }
  /// A repeated pair takes the new value.
  void set(uint64_t left, uint64_t right, const Value& value) {
    if (used_ * 2 >= slots_.size()) reserve(std::max<std::size_t>(used_ * 2, 8));
    Slot& slot = slots_[place(left << 32 | right)];
    used_ += slot.key == kFree;
    slot = {left << 32 | right, value};
  }
  /// Null if the pair is not there.
  const Value* find(uint64_t left, uint64_t right) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(left << 32 | right)];
    return slot.key == kFree ? nullptr : &slot.value;
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Value value{};
  };
  std::size_t place(uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    const uint64_t hash = key * 0x9E3779B97F4A7C15u;
    std::size_t at = (hash ^ hash >> 32) & mask;
    while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void rehash(std::size_t size) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[place(slot.key)] = slot;
  }
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace cupel::text
