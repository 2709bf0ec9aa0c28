// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/transform.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/yaml.h"
#include "core/code.h"
#include "core/tensor_util.h"
#include "core/transforms/list.h"
#include "core/transforms/rounding_loss.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::correlated_inputs;
using testing::error_under;
using testing::normals;

template <class P, class Set>
Choice chosen(const char* name, Set&& set) {
  Choice choice(transform_alternatives(), name);
  auto params = std::make_shared<P>();
  set(*params);
  choice.params = params;
  return choice;
}

Choice chosen(const char* name) {
  return Choice(transform_alternatives(), name);
}

/// A search of few steps.
Choice awq_of(AwqDuo duo, int steps = 3) {
  return chosen<AwqParams>("awq", [&](AwqParams& p) {
    p.duo = duo;
    p.steps = steps;
  });
}

Choice hadamard_of(int block, const char* before = "none") {
  return chosen<HadamardParams>("hadamard", [&](HadamardParams& p) {
    p.block = block;
    p.before = Choice(scaling_alternatives(), before);
    if (p.before.name == "awq") p.before.params = awq_of(AwqDuo::mean).params;
  });
}

Choice balance_of(PowerOfTwo power) {
  return chosen<BalanceParams>("balance", [&](BalanceParams& p) { p.power_of_two = power; });
}

std::vector<Choice> all_choices() {
  return {hadamard_of(32),
          hadamard_of(12),
          hadamard_of(0),
          hadamard_of(0, "smooth"),
          hadamard_of(64, "awq"),
          hadamard_of(0, "balance"),
          chosen("smooth"),
          awq_of(AwqDuo::mean),
          balance_of(PowerOfTwo::none),
          balance_of(PowerOfTwo::common),
          balance_of(PowerOfTwo::each)};
}

const Code& four_bits() {
  static const std::unique_ptr<Code> code =
      make_code(format::make_layout("uniform", R"({"bits":4,"group":32,"symmetric":false})"),
                ScaleRule::minmax);
  return *code;
}

/// Two matrices that read inputs of uneven size.
struct Sample {
  explicit Sample(int64_t inputs) : x_ti(correlated_inputs(300, inputs, "x")) {
    for (const int64_t rows : {24, 7}) {
      group.names.push_back(cat("w", rows));
      group.weights_oi.push_back(0.05 * normals({rows, inputs}, group.names.back()));
    }
    stats.add({.second_moment = true, .absmax = true, .abs_sum = true}, x_ti);
  }
  TransformLoss loss() const {
    return rounding_loss(group, stats, four_bits(), FitMetric::second_moment);
  }
  MadeTransform make(const Choice& choice, uint64_t seed = 3) const {
    const Rng rng(seed);
    return make_transform(choice)->make(
        {.group = group, .stats = stats, .rng = rng, .loss = loss()});
  }

  MatrixGroup group{.id = "group"};
  at::Tensor x_ti;
  Stats stats;
};

double largest(const at::Tensor& t) {
  return t.abs().max().item<double>();
}

TEST(Transform, WeightTimesInputIsKept) {
  for (const int64_t inputs : {96, 60, 76, 344}) {
    const Sample sample(inputs);
    for (const Choice& choice : all_choices()) {
      const auto t = sample.make(choice).transform;
      at::Tensor tx_ti = sample.x_ti.clone();
      format::apply(t, tx_ti.mutable_data_ptr<float>(), tx_ti.size(0), inputs);
      const at::Tensor& w_oi = sample.group.weights_oi[0];
      const at::Tensor y = at::matmul(sample.x_ti.to(at::kDouble), w_oi.t().to(at::kDouble));
      const at::Tensor y2 =
          at::matmul(tx_ti.to(at::kDouble), transform_weight(t, w_oi).t().to(at::kDouble));
      EXPECT_LT(largest(y - y2), 1e-5 * largest(y)) << choice.name << ' ' << inputs << ' ' << t.id;
    }
  }
}

/// The matrix on the side of x and its inverse on the side of w, both in float64: T D^-2 T^T = I
/// for T = H S D says that H S is orthonormal.
TEST(Transform, BothSidesCancelInFloat64) {
  for (const int64_t inputs : {96, 60, 76, 344}) {
    const Sample sample(inputs);
    for (const Choice& choice : all_choices()) {
      const auto t = sample.make(choice).transform;
      at::Tensor inverse_square_i = at::ones({inputs}, at::kDouble);
      for (int64_t i = 0; i < static_cast<int64_t>(t.scale.size()); ++i)
        inverse_square_i[i] = std::pow(static_cast<double>(t.scale[i]), -2);
      const at::Tensor h = transform_second_moment(t, inverse_square_i.diag());
      EXPECT_LT(largest(h - at::ones({inputs}, at::kDouble).diag()), 1e-12)
          << choice.name << ' ' << inputs << ' ' << t.id;
    }
  }
}

TEST(Transform, UndoneOnWeightIsTheIdentity) {
  for (const int64_t inputs : {96, 60, 76}) {
    const Sample sample(inputs);
    for (const Choice& choice : all_choices()) {
      const auto t = sample.make(choice).transform;
      const at::Tensor& w_oi = sample.group.weights_oi[0];
      at::Tensor back = transform_weight(t, w_oi).contiguous();
      format::undo_on_weight(t, back.mutable_data_ptr<float>(), back.size(0), inputs);
      EXPECT_LT(largest(back - w_oi), 1e-5 * largest(w_oi)) << choice.name << ' ' << inputs;
    }
  }
}

TEST(Transform, SecondMomentIsThatOfTransformedInputs) {
  for (const int64_t inputs : {64, 60, 76}) {
    const Sample sample(inputs);
    for (const Choice& choice : all_choices()) {
      const auto t = sample.make(choice).transform;
      at::Tensor tx_ti = sample.x_ti.clone();
      format::apply(t, tx_ti.mutable_data_ptr<float>(), tx_ti.size(0), inputs);
      const at::Tensor h = transform_second_moment(t, sample.stats.second_moment_ii);
      const at::Tensor expected = testing::stats_of(tx_ti).second_moment_ii;
      EXPECT_LT(largest(h - expected), 1e-5 * largest(expected)) << choice.name << ' ' << inputs;
    }
  }
}

TEST(Transform, ErrorUnderTheMomentDoesNotChange) {
  for (const int64_t inputs : {64, 60, 76}) {
    const Sample sample(inputs);
    for (const Choice& choice : all_choices()) {
      const auto t = sample.make(choice).transform;
      const at::Tensor w = normals({20, inputs}, "w"), v = w + 0.1 * normals({20, inputs}, "e");
      Stats after = sample.stats;
      after.second_moment_ii = transform_second_moment(t, after.second_moment_ii);
      const double error = error_under(sample.stats, w, v);
      EXPECT_NEAR(error_under(after, transform_weight(t, w), transform_weight(t, v)), error,
                  1e-4 * error)
          << choice.name << ' ' << inputs;
    }
  }
}

TEST(Transform, NoneIsTheIdentity) {
  const Sample sample(64);
  const auto made = sample.make(chosen("none"));
  EXPECT_TRUE(made.transform.identity());
  EXPECT_EQ(made.transform.id + made.note + made.fallback, "");
  const at::Tensor w = normals({3, 64}, "w");
  EXPECT_TRUE(at::equal(transform_weight(made.transform, w), w));
  EXPECT_FALSE(make_transform(chosen("none"))->needs().any());
}

TEST(Transform, SignsComeFromSeedAndGroup) {
  Sample sample(64), other_group(64);
  other_group.group.id = "b";
  const Choice choice = hadamard_of(32);
  const auto a = sample.make(choice).transform, again = sample.make(choice).transform,
             b = other_group.make(choice).transform, other = sample.make(choice, 4).transform;
  EXPECT_EQ(a.signs, again.signs);
  EXPECT_EQ(a.id, again.id);
  EXPECT_NE(a.signs, b.signs);
  EXPECT_NE(a.signs, other.signs);
  EXPECT_NE(a.id, other.id);
  // Scales count too.
  EXPECT_NE(a.id, sample.make(hadamard_of(32, "smooth")).transform.id);
}

TEST(Transform, BlockShrinksUntilItDividesTheInputs) {
  const auto block = [](int wanted, int64_t inputs) {
    Sample sample(8);
    sample.group.weights_oi = {at::zeros({2, inputs}), at::zeros({1, inputs})};
    const auto made = sample.make(hadamard_of(wanted));
    return cat(made.transform.hadamard, made.note.empty() ? "" : ": ", made.note);
  };
  EXPECT_EQ(block(128, 1536), "128");
  EXPECT_EQ(block(128, 576), "64: hadamard block 64 (128 does not divide 576 inputs)");
  EXPECT_EQ(block(128, 200), "8: hadamard block 8 (128 does not divide 200 inputs)");
  EXPECT_EQ(block(128, 257), "0: no hadamard (128 does not divide 257 inputs)");
  EXPECT_EQ(block(192, 576), "192");
  EXPECT_EQ(block(80, 160), "80");
  EXPECT_EQ(block(80, 100), "20: hadamard block 20 (80 does not divide 100 inputs)");
  EXPECT_EQ(block(80, 48), "16: hadamard block 16 (80 does not divide 48 inputs)");
  for (const int64_t inputs : {576, 1536, 960, 2560, 4864, 896, 64, 12})
    EXPECT_EQ(block(0, inputs), cat(inputs));
  EXPECT_EQ(block(0, 92), "4: hadamard block 4 (no Hadamard matrix of order 92 is known)");
  EXPECT_EQ(block(0, 257), "0: no hadamard (no Hadamard matrix of order 257 is known)");
}

TEST(Transform, RecipesAreChecked) {
  const auto problems_of = [](const char* yaml) {
    struct Step : Params {
      Choice transform{transform_alternatives(), "none"};
      void visit(ParamVisitor& v) override { v.field("transform", transform, "the choice"); }
    } step;
    const Document document = Document::from_text(cat("{transform: ", yaml, "}"), "recipe");
    std::vector<Problem> problems;
    read_params(document.root(), step, problems);
    if (problems.empty()) make_transform(step.transform);
    return document.format(problems);
  };
  for (const char* good :
       {"none", "smooth", "{smooth: {alpha: 0.8}}", "{awq: {duo: max, steps: 5}}", "hadamard",
        "{balance: {power_of_two: each}}", "{hadamard: {block: 0, before: awq}}",
        "{hadamard: {block: 76, before: {balance: {power_of_two: common}}}}"})
    EXPECT_EQ(problems_of(good), "") << good;
  EXPECT_NE(problems_of("{hadamard: {block: 92}}").find("of which a Hadamard matrix is known"),
            std::string::npos);
  EXPECT_NE(problems_of("{hadamard: {block: 1}}").find("of which a Hadamard matrix is known"),
            std::string::npos);
  EXPECT_NE(problems_of("{hadamard: {before: hadamard}}").find("before"), std::string::npos);
  EXPECT_NE(problems_of("{smooth: {alpha: 1.5}}").find("[0, 1]"), std::string::npos);
  EXPECT_NE(problems_of("{awq: {duo: sum}}").find("none, mean, max"), std::string::npos);
}

TEST(Transform, SmoothIsItsFormula) {
  const Sample sample(64);
  const Choice choice = chosen<SmoothParams>("smooth", [](SmoothParams& p) { p.alpha = 0.75; });
  const auto t = sample.make(choice).transform;
  ASSERT_EQ(t.scale.size(), 64u);
  EXPECT_EQ(t.hadamard, 0);
  // Up to a common factor that centres them.
  double low = std::numeric_limits<double>::infinity(), high = 0, product = 0;
  for (int64_t i = 0; i < 64; ++i) {
    double w = 0;
    for (const at::Tensor& w_oi : sample.group.weights_oi)
      w = std::max(w, largest(w_oi.select(1, i)));
    const double s = std::pow(largest(sample.x_ti.select(1, i)), 0.75) / std::pow(w, 0.25);
    const double factor = s * static_cast<double>(t.scale[static_cast<std::size_t>(i)]);
    if (i == 0) product = factor;
    EXPECT_NEAR(factor, product, 1e-5 * product);
    low = std::min(low, static_cast<double>(t.scale[static_cast<std::size_t>(i)]));
    high = std::max(high, static_cast<double>(t.scale[static_cast<std::size_t>(i)]));
  }
  EXPECT_NEAR(low * high, 1, 1e-5);
  EXPECT_GT(high / low, 3);
}

TEST(Transform, BalanceMakesInputsAndWeightsEquallyUneven) {
  const Sample sample(64);
  const auto t = sample.make(balance_of(PowerOfTwo::none)).transform;
  const at::Tensor h_i = transform_second_moment(t, sample.stats.second_moment_ii).diagonal();
  at::Tensor w_i = at::zeros({64}, at::kDouble);
  for (const at::Tensor& w_oi : sample.group.weights_oi)
    w_i += transform_weight(t, w_oi).to(at::kDouble).pow(2).sum(0);
  const at::Tensor ratio_i = h_i / w_i;
  EXPECT_LT(largest(ratio_i / ratio_i.mean() - 1), 1e-4);
}

TEST(Transform, BalanceInPowersOfTwo) {
  Sample sample(64);
  // Inputs so quiet that the middle would push them below float16's normal numbers.
  sample.x_ti = sample.x_ti * 1e-5;
  sample.stats = {};
  sample.stats.add({.second_moment = true}, sample.x_ti);
  const auto free = sample.make(balance_of(PowerOfTwo::none)).transform,
             common = sample.make(balance_of(PowerOfTwo::common)).transform,
             each = sample.make(balance_of(PowerOfTwo::each)).transform;
  const at::Tensor h_ii = sample.stats.second_moment_ii / sample.stats.tokens;
  const auto quietest = [&](const format::InputTransform& t) {
    return transform_second_moment(t, h_ii).diagonal().min().sqrt().item<double>();
  };
  EXPECT_LT(quietest(free), std::exp2(-14));
  EXPECT_GE(quietest(common), std::exp2(-14));
  EXPECT_LT(quietest(common), std::exp2(-13));
  for (std::size_t i = 0; i < 64; ++i) {
    int exponent = 0;
    EXPECT_EQ(std::frexp(each.scale[i], &exponent), 0.5f) << each.scale[i];
    EXPECT_NEAR(std::log2(each.scale[i] / free.scale[i]), 0, 0.5001);
    // `common` is the same up to one factor.
    EXPECT_NEAR(common.scale[i] / free.scale[i], common.scale[0] / free.scale[0],
                1e-5 * common.scale[0] / free.scale[0]);
  }
}

TEST(Transform, AwqIsNeverWorseThanTheIdentity) {
  int better = 0;
  for (const int64_t inputs : {64, 60, 96}) {
    Sample sample(inputs);
    for (const AwqDuo duo : {AwqDuo::none, AwqDuo::mean, AwqDuo::max}) {
      const auto made = sample.make(awq_of(duo, 10));
      const double before = sample.loss()({}), after = sample.loss()(made.transform);
      EXPECT_LE(after, before);
      better += after < 0.9 * before;
      EXPECT_EQ(made.transform.identity(), made.note == "awq kept the inputs as they are");
    }
  }
  EXPECT_GE(better, 6);
  // After a rotation the loss that counts is that of the rotated candidates.
  const Sample sample(64);
  const auto rotated = sample.make(hadamard_of(64)).transform,
             both = sample.make(hadamard_of(64, "awq")).transform;
  EXPECT_LE(sample.loss()(both), sample.loss()(rotated));
}

TEST(Transform, AwqKeepsInputsThatLeaveNothingToGain) {
  // Nothing is lost by rounding zeros, so no scale is better than none.
  Sample sample(64);
  for (at::Tensor& w : sample.group.weights_oi) w = at::zeros_like(w);
  EXPECT_TRUE(sample.make(chosen("awq")).transform.identity());
}

TEST(Transform, LossIsTheErrorOfTheOutputs) {
  const Sample sample(64);
  const auto t = sample.make(hadamard_of(64, "smooth")).transform;
  double expected = 0;
  const auto plain = rounding_loss(sample.group, sample.stats, four_bits(), FitMetric::plain);
  for (const at::Tensor& w_oi : sample.group.weights_oi) {
    const at::Tensor target = host_float(transform_weight(t, w_oi));
    const auto encoding = four_bits().fit(target, {});
    for (int64_t i = 0; i < 64; ++i) {
      const at::Tensor column = target.select(1, i).contiguous(), value = at::zeros_like(column);
      encoding->encode({.row = 0,
                        .rows = column.size(0),
                        .col = i,
                        .cols = 1,
                        .stride = column.size(0),
                        .target = column.const_data_ptr<float>(),
                        .value = value.mutable_data_ptr<float>()});
    }
    auto code = encoding->finish();
    code.input = t;
    const at::Tensor e = (w_oi - decoded_weight(code)).to(at::kDouble);
    const at::Tensor y = at::matmul(sample.x_ti.to(at::kDouble), e.t());
    expected += (y * y).sum().item<double>() / static_cast<double>(sample.x_ti.size(0));
  }
  EXPECT_NEAR(plain(t), expected, 1e-4 * expected);
}

TEST(Transform, DeadInputsKeepTheirWeights) {
  Sample sample(64);
  sample.x_ti.slice(1, 10, 13).fill_(0);
  for (at::Tensor& w : sample.group.weights_oi) w.slice(1, 20, 22).fill_(0);
  sample.stats = {};
  sample.stats.add({.second_moment = true, .absmax = true, .abs_sum = true}, sample.x_ti);
  for (const char* name : {"smooth", "awq", "balance"}) {
    const auto t = sample.make(chosen(name)).transform;
    ASSERT_EQ(t.scale.size(), 64u) << name;
    for (const std::size_t i : {10, 11, 12}) EXPECT_EQ(t.scale[i], 1) << name;
    for (const float s : t.scale) EXPECT_TRUE(std::isfinite(s) && s > 0) << name;
  }
}

TEST(Transform, UnusableStatisticsMeanNoScalingThatIsNamed) {
  for (const char* name : {"smooth", "awq", "balance"}) {
    Sample silent(64), poisoned(64), unseen(64);
    unseen.stats = {};
    for (at::Tensor* t :
         {&silent.stats.second_moment_ii, &silent.stats.absmax_i, &silent.stats.abs_sum_i})
      t->fill_(0);
    for (at::Tensor* t :
         {&poisoned.stats.second_moment_ii, &poisoned.stats.absmax_i, &poisoned.stats.abs_sum_i})
      t->view({-1})[5].fill_(std::numeric_limits<double>::quiet_NaN());
    const auto told = [&](const Sample& sample, const std::string& why) {
      const auto made = sample.make(chosen(name));
      EXPECT_TRUE(made.transform.identity()) << name;
      EXPECT_EQ(made.fallback, "no scaling of inputs: " + why) << name;
      const auto rotated = sample.make(hadamard_of(0, name));
      EXPECT_EQ(rotated.transform.hadamard, 64);
      EXPECT_TRUE(rotated.transform.scale.empty());
      EXPECT_EQ(rotated.fallback, made.fallback);
    };
    told(unseen, "no calibration token reached it");
    told(silent, "its input was zero at every token");
    told(poisoned, "the statistics of its input hold NaN or infinity");
  }
}

TEST(Transform, StatisticsOfSizes) {
  const at::Tensor x = normals({2500, 6}, "x");
  Stats stats;
  const Needs needs = Needs{.absmax = true} | Needs{.abs_sum = true};
  stats.add(needs, x.slice(0, 0, 1500));
  stats.add(needs, x.slice(0, 1500, 2500));
  EXPECT_EQ(stats.tokens, 2500);
  EXPECT_FALSE(stats.second_moment_ii.defined());
  EXPECT_LT(largest(stats.abs_sum_i - x.to(at::kDouble).abs().sum(0)), 1e-9);
  EXPECT_TRUE(at::equal(stats.absmax_i, x.abs().amax(0).to(at::kDouble)));
  EXPECT_TRUE(stats.finite());
  stats.abs_sum_i[3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(stats.finite());
}

}  // namespace
}  // namespace cupel::core
