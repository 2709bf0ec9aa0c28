// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cupel::eval {

/// CPython's random.Random(seed), value for value (Mersenne Twister MT19937, Matsumoto and
/// Nishimura 1998; seeding and methods as in CPython 3.11), for results that must equal those of
/// Python programs. All other randomness comes from base/rng.h. Not thread-safe.
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);
  /// getrandbits(k), k in [0, 64].
  uint64_t bits(int k);
  /// randrange(n): uniform in [0, n), n > 0.
  int64_t below(int64_t n);
  /// random(): uniform in [0, 1), 53 bits.
  double real();
  /// sample(range(population), k): k different indexes in order of drawing; a k beyond the
  /// population is a user error.
  std::vector<int64_t> sample(int64_t population, int64_t k);
  /// choices(range(population), k=k): with replacement.
  std::vector<int64_t> choices(int64_t population, int64_t k);
  /// The same into `out`.
  void choose(int64_t population, std::span<int64_t> out);
  /// shuffle(values), in place.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i-- > 1;)
      std::swap(values[i], values[static_cast<std::size_t>(below(static_cast<int64_t>(i) + 1))]);
  }

 private:
  static constexpr std::size_t kWords = 624;
  void twist();
  uint32_t next();
  std::array<uint32_t, kWords> state_ = {};
  std::size_t used_ = kWords;
};

}  // namespace cupel::eval
