// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <bit>
#include <cstdint>

namespace cupel::runtime {

/// On the bits: vectorises, and no compiler flag can make it vanish.
inline bool all_finite(const float* x, int64_t n) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i)
    bad |= (std::bit_cast<uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u;
  return bad == 0;
}

}  // namespace cupel::runtime
