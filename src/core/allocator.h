// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
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

/// The same where rungs of two ladders also cost something together: `couplings` [k, k], symmetric,
/// over the rungs of all ladders one after the other; those of one ladder do not count. Starts from
/// the programme above and exchanges rungs of one ladder or two, the best exchange first, until
/// none helps: a local minimum. Each exchange looks at (rungs of all ladders)^2 / 2 pairs.
Allocation allocate_coupled(const std::vector<Ladder>& ladders, int64_t budget_bytes,
                            std::span<const float> couplings);

/// What a choice of rungs costs, couplings included (none where they are empty).
double cost_of(const std::vector<Ladder>& ladders, std::span<const float> couplings,
               const std::vector<int>& rungs);

}  // namespace cupel::core
