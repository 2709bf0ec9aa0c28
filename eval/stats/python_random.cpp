// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/python_random.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "base/error.h"

namespace cupel::eval {
namespace {

// random.sample keeps a pool while that takes less memory than a set of what was drawn.
int64_t pool_limit(int64_t k) {
  int64_t limit = 21;
  if (k > 5) {
    int64_t table = 1;
    while (table < 3 * k) table *= 4;
    limit += table;
  }
  return limit;
}

}  // namespace

PythonRandom::PythonRandom(uint64_t seed) {
  state_[0] = 19650218;
  for (std::size_t i = 1; i < kWords; ++i) {
    const uint32_t before = state_[i - 1];
    state_[i] = 1812433253u * (before ^ before >> 30) + static_cast<uint32_t>(i);
  }
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const std::size_t key_words = key[1] != 0 ? 2 : 1;
  std::size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (std::size_t n = 0; n < kWords; ++n) {
    const uint32_t before = state_[i - 1];
    state_[i] =
        (state_[i] ^ (before ^ before >> 30) * 1664525u) + key[j] + static_cast<uint32_t>(j);
    advance();
    j = (j + 1) % key_words;
  }
  for (std::size_t n = 1; n < kWords; ++n) {
    const uint32_t before = state_[i - 1];
    state_[i] = (state_[i] ^ (before ^ before >> 30) * 1566083941u) - static_cast<uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

void PythonRandom::twist() {
  constexpr std::size_t kAhead = 397;
  const auto mixed = [&](std::size_t i, std::size_t next, std::size_t ahead) {
    const uint32_t y = (state_[i] & 0x80000000u) | (state_[next] & 0x7fffffffu);
    return state_[ahead] ^ y >> 1 ^ ((0 - (y & 1)) & 0x9908b0dfu);
  };
  std::size_t i = 0;
  for (; i < kWords - kAhead; ++i) state_[i] = mixed(i, i + 1, i + kAhead);
  for (; i < kWords - 1; ++i) state_[i] = mixed(i, i + 1, i + kAhead - kWords);
  state_[i] = mixed(i, 0, kAhead - 1);
  used_ = 0;
}

uint32_t PythonRandom::next() {
  if (used_ == kWords) twist();
  uint32_t y = state_[used_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

uint64_t PythonRandom::bits(int k) {
  CUPEL_CHECK(k >= 0 && k <= 64, internal, "random bits: 0 to 64 at a time, not ", k);
  if (k == 0) return 0;
  if (k <= 32) return next() >> (32 - k);
  const uint64_t low = next();
  return static_cast<uint64_t>(next() >> (64 - k)) << 32 | low;
}

int64_t PythonRandom::below(int64_t n) {
  CUPEL_CHECK(n > 0, internal, "random number below ", n, ": there is none");
  const int width = std::bit_width(static_cast<uint64_t>(n));
  for (;;) {
    const uint64_t value = bits(width);
    if (value < static_cast<uint64_t>(n)) return static_cast<int64_t>(value);
  }
}

double PythonRandom::real() {
  const uint64_t high = next() >> 5;
  const uint64_t low = next() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

void PythonRandom::choose(int64_t population, std::span<int64_t> out) {
  CUPEL_CHECK(population > 0 || out.empty(), user, "cannot choose ", out.size(), " out of ",
              population);
  for (int64_t& index : out) index = static_cast<int64_t>(real() * static_cast<double>(population));
}

std::vector<int64_t> PythonRandom::choices(int64_t population, int64_t k) {
  CUPEL_CHECK(k >= 0, user, "cannot choose ", k, " out of ", population);
  std::vector<int64_t> out(static_cast<std::size_t>(k));
  choose(population, out);
  return out;
}

std::vector<int64_t> PythonRandom::sample(int64_t population, int64_t k) {
  CUPEL_CHECK(k >= 0 && k <= population, user, "cannot draw ", k, " different ones out of ",
              population);
  std::vector<int64_t> out(static_cast<std::size_t>(k));
  if (population <= pool_limit(k)) {
    std::vector<int64_t> pool(static_cast<std::size_t>(population));
    std::iota(pool.begin(), pool.end(), 0);
    for (int64_t& index : out) {
      int64_t& drawn = pool[static_cast<std::size_t>(below(static_cast<int64_t>(pool.size())))];
      index = std::exchange(drawn, pool.back());
      pool.pop_back();
    }
    return out;
  }
  std::unordered_set<int64_t> seen;
  for (int64_t& index : out) {
    do index = below(population);
    while (!seen.insert(index).second);
  }
  return out;
}

}  // namespace cupel::eval
