// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/mix.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace cupel::quant {
namespace {

constexpr int kUnits = 6, kOptions = 4;
constexpr int64_t kBytes[kOptions] = {2, 3, 4, 5};

/// Errors fall fourfold with each option. The decoded weight of unit u at option o is the number
/// 10 u + o, so that a probe can tell what it was given.
std::vector<MixUnit> units_with(const std::vector<double>& errors) {
  std::vector<MixUnit> units;
  for (int u = 0; u < kUnits; ++u) {
    MixUnit unit;
    unit.ladder.name = cat("unit", u);
    unit.names = {unit.ladder.name};
    double error = errors[static_cast<std::size_t>(u)];
    for (int o = 0; o < kOptions; ++o, error /= 4) {
      unit.ladder.rungs.push_back({.bytes = kBytes[o], .cost = error});
      unit.decoded.push_back({at::full({1}, 10 * u + o)});
    }
    units.push_back(std::move(unit));
  }
  return units;
}

/// sum_u weight_u error_u, and for each pair of neighbours what their errors do together.
struct Model {
  std::vector<double> errors, weights;
  double together = 0;
  int calls = 0;

  double loss(const std::map<std::string, at::Tensor>& replaced) {
    ++calls;
    std::vector<double> cost(kUnits, 0.0);
    for (const auto& [name, value] : replaced) {
      const int code = value.item<int>(), u = code / 10;
      EXPECT_EQ(name, cat("unit", u));
      cost[static_cast<std::size_t>(u)] = weights[static_cast<std::size_t>(u)] *
                                          errors[static_cast<std::size_t>(u)] *
                                          std::pow(0.25, code % 10);
    }
    double sum = std::accumulate(cost.begin(), cost.end(), 0.0);
    for (int u = 0; u + 1 < kUnits; ++u)
      sum += together *
             std::sqrt(cost[static_cast<std::size_t>(u)] * cost[static_cast<std::size_t>(u + 1)]);
    return sum;
  }
  core::ModelProbe probe() {
    return [this](const auto& replaced) { return loss(replaced); };
  }
  /// The least loss of all mixes within the budget.
  double best(int64_t budget) {
    double least = 1e9;
    for (int code = 0; code < 1 << (2 * kUnits); ++code) {
      std::map<std::string, at::Tensor> replaced;
      int64_t bytes = 0;
      for (int u = 0; u < kUnits; ++u) {
        const int o = code >> (2 * u) & 3;
        bytes += kBytes[o];
        replaced[cat("unit", u)] = at::full({1}, 10 * u + o);
      }
      if (bytes <= budget) least = std::min(least, loss(replaced));
    }
    return least;
  }
};

const std::vector<double> kErrors = {1, 2, 1, 4, 1, 0.5};

TEST(Mix, IsTheBestWhereCostsAddUp) {
  Model model{.errors = kErrors, .weights = {1, 5, 0.1, 1, 20, 3}};
  for (const int64_t budget : {12, 17, 20, 21, 30, 100}) {
    const Mix mix =
        find_mix(units_with(kErrors), {.budget_bytes = budget, .rounds = 0}, model.probe());
    EXPECT_LE(mix.bytes, budget);
    EXPECT_NEAR(mix.divergence, model.best(budget), 1e-12) << budget;
  }
  EXPECT_THROW(find_mix(units_with(kErrors), {.budget_bytes = 11}, model.probe()), Error);
}

TEST(Mix, RoundsSeeWhatErrorsDoTogether) {
  Model model{.errors = kErrors, .weights = {1, 5, 0.1, 1, 20, 3}, .together = 3};
  double without = 0, with = 0, best = 0;
  for (int64_t budget = 13; budget < 30; ++budget) {
    const MixSearch search{.budget_bytes = budget, .rounds = 0, .guard = false};
    MixSearch more = search;
    more.rounds = 3;
    const Mix plain = find_mix(units_with(kErrors), search, model.probe()),
              refined = find_mix(units_with(kErrors), more, model.probe());
    EXPECT_LE(refined.bytes, budget);
    EXPECT_LE(refined.divergence, plain.divergence);
    EXPECT_EQ(refined.divergence, *std::ranges::min_element(refined.tried));
    without += std::log(plain.divergence);
    with += std::log(refined.divergence);
    best += std::log(model.best(budget));
  }
  EXPECT_LT(with - best, 0.5 * (without - best));
}

/// What options of neighbours cost together in `model`, where all weights are 1.
std::vector<float> couplings_of(const Model& model) {
  constexpr int kAll = kUnits * kOptions;
  std::vector<float> out(kAll * kAll, 0.0f);
  const auto cost = [&](int k) {
    return model.errors[static_cast<std::size_t>(k / kOptions)] * std::pow(0.25, k % kOptions);
  };
  for (int a = 0; a < kAll; ++a)
    for (int b = 0; b < kAll; ++b)
      if (std::abs(a / kOptions - b / kOptions) == 1)
        out[static_cast<std::size_t>(a * kAll + b)] =
            static_cast<float>(model.together * std::sqrt(cost(a) * cost(b)));
  return out;
}

TEST(Mix, CouplingsSayWhatErrorsDoTogether) {
  Model model{.errors = kErrors, .weights = {1, 1, 1, 1, 1, 1}, .together = 3};
  double without = 0, with = 0, best = 0;
  for (int64_t budget = 13; budget < 30; ++budget) {
    MixSearch search{
        .budget_bytes = budget, .measured = false, .rounds = 0, .guard = false, .couplings = {}};
    without += std::log(find_mix(units_with(kErrors), search, model.probe()).divergence);
    search.couplings = couplings_of(model);
    with += std::log(find_mix(units_with(kErrors), search, model.probe()).divergence);
    best += std::log(model.best(budget));
  }
  EXPECT_LT(with - best, 0.2 * (without - best));
}

TEST(Mix, UnmeasuredCostsAreTakenAsTheyAre) {
  Model model{.errors = kErrors, .weights = {1, 1, 1, 1, 1, 1}};
  const Mix mix = find_mix(units_with(kErrors),
                           {.budget_bytes = 20, .measured = false, .rounds = 0}, model.probe());
  EXPECT_EQ(model.calls, 2);  // the mix and the single
  EXPECT_NEAR(mix.divergence, model.best(20), 1e-12);
}

TEST(Mix, TheGuardTakesASingleThatIsBetter) {
  // Errors of units that are rounded alike undo each other.
  const core::ModelProbe probe = [](const std::map<std::string, at::Tensor>& replaced) {
    int first = -1, same = 0;
    for (const auto& [name, value] : replaced) {
      const int option = value.item<int>() % 10;
      if (first < 0) first = option;
      same += option == first;
    }
    return same == kUnits ? 0.1 : 1.0;
  };
  const MixSearch search{.budget_bytes = 20, .measured = false, .rounds = 0};
  const Mix guarded = find_mix(units_with(kErrors), search, probe);
  EXPECT_TRUE(guarded.is_single);
  EXPECT_EQ(guarded.single, 1);
  EXPECT_EQ(guarded.bytes, 18);
  MixSearch bold = search;
  bold.guard = false;
  const Mix mix = find_mix(units_with(kErrors), bold, probe);
  EXPECT_FALSE(mix.is_single);
  EXPECT_EQ(mix.divergence, 1.0);
  EXPECT_EQ(mix.divergence_of_single, 0.1);
}

}  // namespace
}  // namespace cupel::quant
