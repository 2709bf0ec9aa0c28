// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

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

/// Costs |v|^2 / 2 of random vectors that share a direction, as damage does, and their couplings.
struct Coupled {
  std::vector<Ladder> ladders;
  std::vector<float> couplings;
  int64_t budget = 0;

  explicit Coupled(Rng& rng) : ladders(5) {
    std::vector<std::vector<double>> vectors;
    for (Ladder& l : ladders) {
      double size = 1 + rng.uniform();
      for (int64_t r = 0; r < 4; ++r, size *= 0.5) {
        std::vector<double>& v = vectors.emplace_back(6);
        double cost = 0;
        for (std::size_t k = 0; k < v.size(); ++k) {
          v[k] = size * (rng.normal() + (k == 0 ? 1.0 : 0.0));
          cost += v[k] * v[k] / 2;
        }
        l.rungs.push_back({(r + 1) * static_cast<int64_t>(1 + rng.below(8)) * 64, cost});
      }
    }
    for (const auto& a : vectors)
      for (const auto& b : vectors)
        couplings.push_back(
            static_cast<float>(std::inner_product(a.begin(), a.end(), b.begin(), 0.0)));
    int64_t least = 0, most = 0;
    for (const Ladder& l : ladders) {
      least += std::ranges::min(l.rungs, {}, &Rung::bytes).bytes;
      most += std::ranges::max(l.rungs, {}, &Rung::bytes).bytes;
    }
    budget = least + static_cast<int64_t>(rng.below(static_cast<uint64_t>(most - least)));
  }
  int64_t bytes(const std::vector<int>& rungs) const {
    int64_t sum = 0;
    for (std::size_t l = 0; l < ladders.size(); ++l)
      sum += ladders[l].rungs[static_cast<std::size_t>(rungs[l])].bytes;
    return sum;
  }
  /// The least cost of all choices, or of those that differ from `from` in two ladders at most.
  double least(const std::vector<int>* from = nullptr) const {
    double best = std::numeric_limits<double>::infinity();
    for (int code = 0; code < 1024; ++code) {
      std::vector<int> rungs(5);
      int changed = 0;
      for (int l = 0; l < 5; ++l) {
        rungs[static_cast<std::size_t>(l)] = code >> (2 * l) & 3;
        if (from)
          changed += rungs[static_cast<std::size_t>(l)] != (*from)[static_cast<std::size_t>(l)];
      }
      if (changed > 2 || bytes(rungs) > budget) continue;
      best = std::min(best, cost_of(ladders, couplings, rungs));
    }
    return best;
  }
};

TEST(Allocator, ExchangesFindWhatCouplingsAllow) {
  Rng rng(5);
  int best = 0;
  double plain_excess = 0, excess = 0;
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Coupled problem(rng);
    const Allocation plain = allocate(problem.ladders, problem.budget);
    const Allocation found = allocate_coupled(problem.ladders, problem.budget, problem.couplings);
    EXPECT_LE(found.bytes, problem.budget);
    EXPECT_EQ(found.bytes, problem.bytes(found.rungs));
    EXPECT_NEAR(found.cost, cost_of(problem.ladders, problem.couplings, found.rungs), 1e-9);
    EXPECT_LE(found.cost, problem.least(&found.rungs) + 1e-6) << "two exchanges help";
    const double least = problem.least();
    best += found.cost <= least + 1e-6;
    excess += found.cost - least;
    plain_excess += cost_of(problem.ladders, problem.couplings, plain.rungs) - least;
  }
  EXPECT_GE(best, 80);
  EXPECT_LT(excess, 0.1 * plain_excess);
}

TEST(Allocator, WithoutCouplingsExchangesChangeNothing) {
  Rng rng(6);
  for (int trial = 0; trial < 20; ++trial) {
    const Coupled problem(rng);
    const std::vector<float> none(problem.couplings.size(), 0.0f);
    const Allocation plain = allocate(problem.ladders, problem.budget);
    EXPECT_EQ(allocate_coupled(problem.ladders, problem.budget, none).rungs, plain.rungs);
    EXPECT_NEAR(cost_of(problem.ladders, {}, plain.rungs), plain.cost, 1e-12);
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
