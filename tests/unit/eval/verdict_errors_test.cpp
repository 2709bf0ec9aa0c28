// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// How often verdicts are wrong, by simulation: seeded, with three standard errors of room.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "base/rng.h"
#include "eval/stats/verdict.h"

namespace cupel::eval {
namespace {

/// Share of documents lost and won; the rest stays.
struct Truth {
  int documents;
  double lost, won;
  double loss() const { return lost - won; }
};

PairedScores draw(const Truth& truth, Rng& rng) {
  PairedScores t{"t", "acc", {}, {}};
  for (int i = 0; i < truth.documents; ++i) {
    const double u = rng.uniform();
    const bool lost = u < truth.lost, won = !lost && u < truth.lost + truth.won;
    t.reference.push_back(lost || (!won && u < 0.7) ? 1 : 0);
    t.model.push_back(lost ? 0 : won ? 1 : t.reference.back());
  }
  return t;
}

double room(double share, int trials) {
  return 3 * std::sqrt(share * (1 - share) / trials);
}

struct Rates {
  double no_loss = 0, differs = 0, covered = 0;
};

Rates rates(const Truth& truth, double margin, int trials) {
  Rng rng(7, "verdict errors");
  Rates r;
  for (int i = 0; i < trials; ++i) {
    const TaskVerdict v = judge_tasks({draw(truth, rng)}, {margin})[0];
    r.no_loss += v.p_margin_holm <= 0.025;
    r.differs += v.p_difference_holm <= 0.05;
    r.covered += v.interval.low <= truth.loss() && truth.loss() <= v.interval.high;
  }
  r.no_loss /= trials;
  r.differs /= trials;
  r.covered /= trials;
  std::cout << truth.documents << " documents, lost " << truth.lost << ", won " << truth.won
            << ": 'no loss' " << r.no_loss << ", 'differs' " << r.differs << ", covered "
            << r.covered << "\n";
  return r;
}

constexpr int kTrials = 10'000;

TEST(VerdictErrors, ALossOfTheMarginIsSeldomDenied) {
  for (const Truth& truth :
       {Truth{300, 0.05, 0.0}, {300, 0.10, 0.05}, {400, 0.01, 0}, {1000, 0.06, 0.05}}) {
    const Rates r = rates(truth, truth.loss(), kTrials);
    EXPECT_LE(r.no_loss, 0.025 + room(0.025, kTrials));
    // Where four documents change, each is a step: the interval's other end gives way.
    const bool rare = truth.documents * truth.lost < 5;
    EXPECT_GE(r.covered, rare ? 0.92 : 0.95 - room(0.05, kTrials));
  }
}

TEST(VerdictErrors, EqualModelsSeldomDiffer) {
  for (const Truth& truth : {Truth{300, 0.05, 0.05}, {1000, 0.01, 0.01}, {100, 0.2, 0.2}}) {
    const Rates r = rates(truth, 0.01, kTrials);
    EXPECT_LE(r.differs, 0.05 + room(0.05, kTrials));
    EXPECT_GE(r.covered, 0.95 - room(0.05, kTrials));
  }
}

TEST(VerdictErrors, SmallLossesAreFoundWithEnoughDocuments) {
  EXPECT_GE(rates({5000, 0.03, 0.03}, 0.01, 1000).no_loss, 0.8);
  EXPECT_GE(rates({2000, 0.06, 0.03}, 0.01, 1000).differs, 0.95);
}

TEST(VerdictErrors, GradedScores) {
  // Skewed losses with mean 0.02: few documents lose much.
  Rng rng(8, "graded verdicts");
  constexpr int kGraded = 1000;
  double no_loss = 0, covered = 0;
  for (int i = 0; i < kGraded; ++i) {
    PairedScores t{"t", "mass", {}, {}};
    for (int d = 0; d < 150; ++d) {
      t.reference.push_back(0.6);
      t.model.push_back(0.6 + 0.03 - 0.05 * -std::log(1 - rng.uniform()));
    }
    const TaskVerdict v = judge_tasks({t}, {0.02, 0.95, 600, static_cast<uint64_t>(i)})[0];
    no_loss += v.p_margin_holm <= 0.025;
    covered += v.interval.low <= 0.02 && 0.02 <= v.interval.high;
  }
  std::cout << "graded: 'no loss' " << no_loss / kGraded << ", covered " << covered / kGraded
            << "\n";
  // BCa is second-order exact: 150 documents leave it a little short.
  EXPECT_LE(no_loss / kGraded, 0.03 + room(0.03, kGraded));
  EXPECT_GE(covered / kGraded, 0.94 - room(0.06, kGraded));
}

}  // namespace
}  // namespace cupel::eval
