// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/allocator.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace cupel::core {
namespace {

TEST(Allocator, IsTheBestOfAllChoices) {
  Rng rng(3);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<Ladder> ladders(6);
    for (Ladder& l : ladders)
      for (int r = 0; r < 4; ++r)
        l.rungs.push_back({static_cast<int64_t>(1 + rng.below(50)) * 64, rng.uniform()});
    int64_t least = 0;
    for (const Ladder& l : ladders) {
      int64_t smallest = l.rungs[0].bytes;
      for (const Rung& r : l.rungs) smallest = std::min(smallest, r.bytes);
      least += smallest;
    }
    const int64_t budget = least + static_cast<int64_t>(rng.below(4000));
    const Allocation found = allocate(ladders, budget);
    double best = std::numeric_limits<double>::infinity();
    for (int code = 0; code < 4096; ++code) {
      int64_t bytes = 0;
      double cost = 0;
      for (int l = 0, c = code; l < 6; ++l, c /= 4) {
        bytes += ladders[static_cast<std::size_t>(l)].rungs[static_cast<std::size_t>(c % 4)].bytes;
        cost += ladders[static_cast<std::size_t>(l)].rungs[static_cast<std::size_t>(c % 4)].cost;
      }
      if (bytes <= budget) best = std::min(best, cost);
    }
    EXPECT_LE(found.bytes, budget);
    EXPECT_NEAR(found.cost, best, 1e-12) << trial;
  }
}

TEST(Allocator, SaysTheLeastBudget) {
  const std::vector<Ladder> ladders = {{"a", {{100, 1}, {200, 0}}}, {"b", {{50, 1}}}};
  try {
    allocate(ladders, 149);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find("150"), std::string::npos) << e.message();
  }
  EXPECT_EQ(allocate(ladders, 150).rungs, (std::vector<int>{0, 0}));
  EXPECT_EQ(allocate(ladders, 1000).rungs, (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace cupel::core
