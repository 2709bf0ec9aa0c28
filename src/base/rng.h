// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cupel {

/// One block of Philox 4x32-10: a bijection of the counter for each key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Counter-based random numbers (Philox 4x32-10): value i of the stream (seed, name) is a pure
/// function of the three, so results do not depend on order, threads or restarts. Not thread-safe;
/// copies are independent cursors. Source: Salmon et al., "Parallel random numbers: as easy as 1,
/// 2, 3", SC 2011.
class Rng {
 public:
  explicit Rng(uint64_t seed, std::string_view name = {});
  /// An independent stream named below this one.
  Rng child(std::string_view name) const;
  Rng child(uint64_t index) const;

  uint32_t next_u32();
  uint64_t next_u64();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [0, n), n > 0, without bias.
  uint64_t below(uint64_t n);
  /// Standard normal (Box-Muller).
  double normal();

  /// Position in the stream, for checkpoints: seek(position()) goes on with the same values.
  uint64_t position() const { return counter_ * 4 + used_; }
  void seek(uint64_t position);

 private:
  void refill();
  uint64_t key_ = 0;
  uint64_t counter_ = 0;
  unsigned used_ = 0;
  bool filled_ = false;
  std::array<uint32_t, 4> block_ = {};
};

}  // namespace cupel
