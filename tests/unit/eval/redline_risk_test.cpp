// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Redline's guarantee by simulation with known risks, beside the rule that it replaces: the fastest
// candidate whose mean accuracy on the same prompts is within a tolerance of the reference's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "base/cat.h"
#include "base/rng.h"
#include "eval/stats/redline.h"

namespace cupel::eval {
namespace {

constexpr double kBudget = 0.05, kDelta = 0.05, kRight = 0.7;  // kRight: accuracy of the reference
constexpr int kTrials = 10'000;

/// Candidates from the slowest to the fastest; candidate i has the speed i + 2, the reference 1.
struct Shape {
  std::string name;
  std::vector<double> risks;  ///< P(reference right, candidate wrong)
  std::vector<double> gains;  ///< P(reference wrong, candidate right)
  bool same_prompts = false;  ///< every candidate fails on the same difficult prompts first
  int prompts = 300;
};

std::vector<Shape> shapes() {
  const std::vector<double> ladder = {0.005, 0.02, 0.035, 0.06, 0.1},
                            at = {0.0501, 0.0501, 0.0501, 0.0501};
  return {
      {"ladder, same prompts", ladder, {0, 0, 0, 0, 0}, true},
      {"ladder, gains make up for losses", ladder, ladder},
      {"all just above the budget", at, {0.01, 0.01, 0.01, 0.01}},
      {"all just above, same prompts", at, at, true},
      {"last one just above", {0.01, 0.03, 0.051}, {0.01, 0.03, 0.051}},
      {"a trap among safe ones", {0.01, 0.09, 0.02, 0.07}, {0.01, 0.08, 0.02, 0.07}},
      {"all safe", {0.001, 0.005, 0.01}, {0, 0, 0}},
      {"all bad", {0.08, 0.15, 0.3}, {0.05, 0.1, 0.2}},
      {"ladder, 600 prompts", ladder, ladder, false, 600},
  };
}

struct Draw {
  std::vector<RedlineCandidate> candidates;
  std::vector<int> wins;  ///< reference wrong, candidate right
};

Draw draw(const Shape& s, Rng& rng) {
  Draw d;
  for (std::size_t c = 0; c < s.risks.size(); ++c)
    d.candidates.push_back({cat(c), static_cast<double>(c) + 2, s.prompts, 0});
  d.wins.resize(s.risks.size());
  for (int i = 0; i < s.prompts; ++i) {
    const bool right = rng.uniform() < kRight;
    double difficulty = rng.uniform();
    for (std::size_t c = 0; c < s.risks.size(); ++c) {
      if (!s.same_prompts && c > 0) difficulty = rng.uniform();
      d.candidates[c].failures += right && difficulty < s.risks[c] / kRight;
      d.wins[c] += !right && difficulty < s.gains[c] / (1 - kRight);
    }
  }
  return d;
}

std::optional<std::size_t> by_mean_accuracy(const Draw& d, double tolerance) {
  std::optional<std::size_t> best;
  for (std::size_t c = 0; c < d.wins.size(); ++c)
    if (static_cast<double>(d.candidates[c].failures - d.wins[c]) <=
        tolerance * static_cast<double>(d.candidates[c].prompts))
      best = c;
  return best;
}

/// Of one rule: how often the chosen risk was above the budget, and the mean speed.
struct Outcome {
  double violations = 0, speed = 0;
  void add(const Shape& s, std::optional<std::size_t> chosen) {
    violations += chosen && s.risks[*chosen] > kBudget ? 1.0 / kTrials : 0;
    speed += (chosen ? static_cast<double>(*chosen) + 2 : 1) / kTrials;
  }
};

constexpr RiskControl kControls[] = {RiskControl::fixed_sequence, RiskControl::holm,
                                     RiskControl::bonferroni};
constexpr double kTolerances[] = {-0.02, 0, 0.01, 0.02, 0.05};

struct Outcomes {
  Outcome redline[std::size(kControls)], mean[std::size(kTolerances)];
};

Outcomes simulate(const Shape& s) {
  Outcomes out;
  Rng rng(11, s.name);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Draw d = draw(s, rng);
    for (std::size_t i = 0; i < std::size(kControls); ++i)
      out.redline[i].add(s, redline(d.candidates, {kBudget, kDelta, kControls[i]}).chosen);
    for (std::size_t i = 0; i < std::size(kTolerances); ++i)
      out.mean[i].add(s, by_mean_accuracy(d, kTolerances[i]));
  }
  return out;
}

void print(const Shape& s, const Outcomes& out) {
  std::printf("%s: share of trials above the budget, mean speed\n", s.name.c_str());
  for (std::size_t i = 0; i < std::size(kControls); ++i)
    std::printf("  %-30s %.4f  %.2f\n", cat("Redline, ", risk_control_name(kControls[i])).c_str(),
                out.redline[i].violations, out.redline[i].speed);
  for (std::size_t i = 0; i < std::size(kTolerances); ++i)
    std::printf("  mean accuracy, tolerance %5.2f %.4f  %.2f\n", kTolerances[i],
                out.mean[i].violations, out.mean[i].speed);
}

TEST(RedlineRisk, StaysWithinDeltaWhereMeanAccuracyDoesNot) {
  const double room = 3 * std::sqrt(kDelta * (1 - kDelta) / kTrials);
  Outcome worst[std::size(kTolerances)];  // of the mean rule over the shapes
  bool slower[std::size(kTolerances)] = {};
  for (const Shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    const Outcomes out = simulate(s);
    print(s, out);
    for (const Outcome& o : out.redline) EXPECT_LE(o.violations, kDelta + room);
    for (std::size_t i = 0; i < std::size(kTolerances); ++i) {
      worst[i].violations = std::max(worst[i].violations, out.mean[i].violations);
      slower[i] |= out.mean[i].speed < out.redline[0].speed && out.mean[i].violations <= kDelta;
    }
  }
  // Every tolerance of the mean-accuracy rule breaks the budget somewhere; Redline nowhere.
  for (std::size_t i = 0; i < std::size(kTolerances); ++i)
    EXPECT_GT(worst[i].violations, 5 * kDelta) << "tolerance " << kTolerances[i];
  EXPECT_TRUE(slower[0]) << "a strict tolerance buys its safety with speed";
}

TEST(RedlineRisk, UsesWhatTheBudgetAllows) {
  // Borderline candidates reach delta nearly: the test is exact, not merely safe.
  const Shape single{"one at the budget", {0.0501}, {0}};
  const Outcomes out = simulate(single);
  EXPECT_GT(out.redline[0].violations, 0.5 * kDelta);
  // Candidates far below the budget are nearly always found.
  const Shape safe{"safe", {0.001, 0.005, 0.01}, {0, 0, 0}};
  for (const Outcome& o : simulate(safe).redline) EXPECT_GT(o.speed, 3.9);
}

}  // namespace
}  // namespace cupel::eval
