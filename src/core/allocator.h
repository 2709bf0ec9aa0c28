// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::core {

/// One way to store a unit (a group of matrices that share it): what it weighs and what it costs.
struct Rung {
  int64_t bytes = 0;
  double cost = 0;  ///< predicted loss; sums over units
};

struct Ladder {
  std::string name;
  std::vector<Rung> rungs;
};

struct Allocation {
  std::vector<int> rungs;  ///< one per ladder
  int64_t bytes = 0;
  double cost = 0;
};

/// The choice of one rung per ladder with the least total cost within `budget_bytes`: a dynamic
/// programme over bytes, exact where the bytes have a common divisor of at least budget / 2^18, and
/// else on a grid that fine, rounded so that the budget holds. Fault::user says what the least
/// budget would be.
Allocation allocate(const std::vector<Ladder>& ladders, int64_t budget_bytes);

}  // namespace cupel::core
