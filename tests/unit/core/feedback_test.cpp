// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/feedback.h"

#include <ATen/Parallel.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_inv.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include "core/codes/uniform_code.h"
#include "core/metric.h"
#include "core/tensor_util.h"
#include "format/layouts/dense.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::correlated_inputs;
using testing::error_under;
using testing::normals;
using testing::stats_of;

std::unique_ptr<Code> uniform_code(int bits, int group) {
  format::UniformParams params;
  params.bits = bits;
  params.group = group;
  return std::make_unique<UniformCode>(std::make_shared<format::UniformLayout>(params),
                                       ScaleRule::minmax);
}

Factor factor_of(const Stats& stats, int tile = 1, FeedbackOptions options = {}) {
  return factorise(stats.second_moment_ii, stats.tokens, tile, options);
}

std::vector<uint8_t> codes_of(const format::WeightCode& code) {
  const auto codes = code.arrays.at("codes").as<uint8_t>();
  return {codes.begin(), codes.end()};
}

double share_that_differs(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int64_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ += a[i] != b[i];
  return static_cast<double>(differ) / static_cast<double>(a.size());
}

/// GPTQ as the paper's section 3 has it: one input after the other in float64, the inverse of H
/// updated by elimination.
std::vector<uint8_t> textbook(const at::Tensor& w_oi, const Stats& stats,
                              const format::WeightCode& grid, const std::vector<int64_t>& order,
                              double damp, int bits, int64_t group) {
  const int64_t rows = w_oi.size(0), n = w_oi.size(1), groups = (n + group - 1) / group;
  const at::Tensor h = stats.second_moment_ii / static_cast<double>(stats.tokens);
  at::Tensor inverse = at::linalg_inv(h + damp * h.diagonal().mean() * at::eye(n, at::kDouble));
  at::Tensor w = w_oi.to(at::kDouble);
  std::vector<uint8_t> codes(static_cast<std::size_t>(rows * n));
  const auto scales = grid.arrays.at("scales").as<uint16_t>();
  const auto zeros = grid.arrays.at("zeros").as<uint8_t>();
  for (const int64_t i : order) {
    at::Tensor error_o = at::zeros({rows}, at::kDouble);
    for (int64_t o = 0; o < rows; ++o) {
      const auto at = static_cast<std::size_t>(o * groups + i / group);
      const double scale = format::f16_to_f32(scales[at]), zero = zeros[at];
      const double target = w[o][i].item<double>();
      const double code =
          std::clamp(std::nearbyint(target / scale) + zero, 0.0, std::ldexp(1.0, bits) - 1);
      codes[static_cast<std::size_t>(o * n + i)] = static_cast<uint8_t>(code);
      error_o[o].fill_(target - scale * (code - zero));
    }
    const at::Tensor row = inverse[i] / inverse[i][i];
    w = w - at::outer(error_o, row);
    inverse = inverse - at::outer(inverse[i], row);
  }
  return codes;
}

TEST(Feedback, GivesTheCodesOfTextbookGptq) {
  const Stats stats = stats_of(correlated_inputs(400, 160, "x"));
  const at::Tensor w_oi = normals({80, 160}, "w");
  for (const FeedbackOrder order : {FeedbackOrder::activation, FeedbackOrder::natural})
    for (const int bits : {2, 4}) {
      const auto code = uniform_code(bits, 64);
      const Factor factor = factor_of(stats, 1, {.order = order});
      ASSERT_TRUE(factor.usable());
      const auto ours = encode(*code, w_oi, {}, &factor, {.inputs = 32});
      const auto expected = textbook(w_oi, stats, ours, factor.inputs, 0.01, bits, 64);
      EXPECT_LT(share_that_differs(codes_of(ours), expected), 1e-3) << bits;
      EXPECT_GT(share_that_differs(codes_of(encode(*code, w_oi, {}, nullptr)), expected), 0.05)
          << bits;
    }
}

TEST(Feedback, OrderIsByEnergy) {
  Stats stats{.tokens = 2};
  stats.second_moment_ii = at::diag(at::full({5}, 1.0, at::kDouble));
  stats.second_moment_ii[3][3].fill_(7.0);
  stats.second_moment_ii[1][1].fill_(3.0);
  EXPECT_EQ(factor_of(stats).inputs, (std::vector<int64_t>{3, 1, 0, 2, 4}));
  EXPECT_EQ(factor_of(stats, 1, {.order = FeedbackOrder::natural}).inputs,
            (std::vector<int64_t>{0, 1, 2, 3, 4}));
  // Tiles stay whole, the short one stays last.
  EXPECT_EQ(factor_of(stats, 2).inputs, (std::vector<int64_t>{2, 3, 0, 1, 4}));
}

/// A code of tiles rows x 4 on a fixed grid; sums e^T D e of what it was asked to round.
class TileCode : public Code {
 public:
  explicit TileCode(float step, int rows) : step_(step), rows_(rows) {}
  TileShape tile() const override { return {.rows = rows_, .cols = 4}; }
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric&) const override;
  mutable double loss = 0;
  mutable std::mutex mutex;
  float step() const { return step_; }

 private:
  float step_;
  int rows_;
};

class TileEncoding : public Encoding {
 public:
  TileEncoding(const TileCode& code, int64_t rows, int64_t cols)
      : code_(code), v_oi_(at::zeros({rows, cols}, at::kFloat)) {}
  void encode(const TileColumn& t) override {
    const std::lock_guard lock(code_.mutex);
    EXPECT_EQ(t.row % code_.tile().rows, 0);
    for (int64_t r = 0; r < t.rows; ++r) {
      for (int64_t c = 0; c < t.cols; ++c) {
        const float target = t.target[c * t.stride + r];
        const float value =
            code_.step() > 0 ? code_.step() * std::nearbyint(target / code_.step()) : target;
        t.value[c * t.stride + r] = value;
        v_oi_[t.row + r][t.col + c].fill_(value);
      }
      if (!t.metric_dd) continue;
      for (int64_t a = 0; a < t.cols; ++a)
        for (int64_t b = 0; b < t.cols; ++b)
          code_.loss += double{t.target[a * t.stride + r] - t.value[a * t.stride + r]} *
                        t.metric_dd[a * t.cols + b] *
                        double{t.target[b * t.stride + r] - t.value[b * t.stride + r]};
    }
  }
  format::WeightCode finish() override {
    return format::dense_code(format::ElementType::f32, v_oi_.size(0), v_oi_.size(1),
                              floats(v_oi_));
  }

 private:
  const TileCode& code_;
  at::Tensor v_oi_;
};

std::unique_ptr<Encoding> TileCode::fit(const at::Tensor& w_oi, const Metric&) const {
  return std::make_unique<TileEncoding>(*this, w_oi.size(0), w_oi.size(1));
}

// tr((W - V) H (W - V)^T) = sum over tiles of e D e^T, with e what the code lost on its target.
TEST(Feedback, LossIsTheSumOverTilesInTheirMetric) {
  Stats stats = stats_of(correlated_inputs(300, 90, "x"));
  const at::Tensor w_oi = normals({70, 90}, "w");
  for (const int tile_rows : {1, 5}) {
    const TileCode code(0.5f, tile_rows);
    const Factor factor = factor_of(stats, code.tile().cols);
    const at::Tensor v_oi = decode(encode(code, w_oi, {}, &factor, {.inputs = 10}));
    const at::Tensor& h = stats.second_moment_ii;
    Stats damped = stats;
    damped.second_moment_ii = h + 0.01 * h.diagonal().mean() * at::eye(90, at::kDouble);
    const double loss = error_under(damped, w_oi, v_oi);
    EXPECT_NEAR(code.loss, loss, 1e-4 * loss);
    EXPECT_LT(error_under(stats, w_oi, v_oi),
              0.7 * error_under(stats, w_oi, decode(encode(code, w_oi, {}, nullptr))));
  }
}

TEST(Feedback, ExactCodeLosesNothing) {
  const Stats stats = stats_of(correlated_inputs(300, 50, "x"));
  const at::Tensor w_oi = normals({20, 50}, "w");
  const TileCode code(0, 1);
  const Factor factor = factor_of(stats, 4);
  EXPECT_TRUE(at::equal(decode(encode(code, w_oi, {}, &factor)), w_oi));
}

TEST(Feedback, ThreadsAndBlockSizeDoNotShow) {
  // Wide enough for the factorisation to use threads.
  const Stats stats = stats_of(correlated_inputs(400, 700, "x"));
  const at::Tensor w_oi = normals({150, 700}, "w");
  const auto code = uniform_code(3, 64);
  const int threads = at::get_num_threads();
  std::vector<std::vector<uint8_t>> results;
  for (const int n : {1, 2, 3}) {
    at::set_num_threads(n);
    const Factor factor = factor_of(stats);
    results.push_back(codes_of(encode(*code, w_oi, {}, &factor)));
  }
  at::set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  const Factor factor = factor_of(stats);
  for (const int block : {1, 7, 1000})
    EXPECT_LT(share_that_differs(codes_of(encode(*code, w_oi, {}, &factor, {.inputs = block})),
                                 results[0]),
              1e-3);
}

TEST(Feedback, TensorOperationsAgree) {
  const Stats stats = stats_of(correlated_inputs(300, 90, "x"));
  const at::Tensor w_oi = normals({30, 90}, "w");
  const auto code = uniform_code(4, 32);
  const Factor factor = factor_of(stats);
  const auto a = codes_of(encode(*code, w_oi, {}, &factor));
  const auto b = codes_of(encode_in_tensor_ops(*code, w_oi, {}, &factor, {.inputs = 32}));
  EXPECT_LT(share_that_differs(a, b), 1e-3);
  EXPECT_EQ(codes_of(encode(*code, w_oi, {}, nullptr)),
            codes_of(encode_in_tensor_ops(*code, w_oi, {}, nullptr)));
  const TileCode tiles(0.25f, 1);
  const Factor wide = factor_of(stats, 4);
  const at::Tensor difference =
      decode(encode(tiles, w_oi, {}, &wide)) - decode(encode_in_tensor_ops(tiles, w_oi, {}, &wide));
  EXPECT_LT((difference.abs() > 0.1).sum().item<int64_t>(), 3);
}

TEST(Feedback, DampingGrowsUntilThereIsAFactor) {
  Stats stats{.tokens = 1};
  stats.second_moment_ii =
      at::full({64, 64}, 5.0, at::kDouble);  // smallest eigenvalue -4, mean diagonal 1
  stats.second_moment_ii.diagonal().fill_(1.0);
  const Factor factor = factor_of(stats);
  ASSERT_TRUE(factor.usable()) << factor.failure;
  EXPECT_EQ(factor.damp, 10);

  const Stats rank_one = stats_of(normals({1, 64}, "one token"));
  EXPECT_EQ(factor_of(rank_one).damp, 0.01);
  EXPECT_EQ(factor_of(rank_one, 1, {.damp = 0}).damp, 0.01);
}

TEST(Feedback, SizeOfTheInputsDoesNotMatter) {
  Stats stats = stats_of(correlated_inputs(300, 90, "x"));
  const at::Tensor w_oi = normals({30, 90}, "w");
  const auto code = uniform_code(4, 32);
  const Factor factor = factor_of(stats);
  stats.second_moment_ii.mul_(0x1p60);
  const Factor large = factor_of(stats);
  EXPECT_EQ(large.damp, factor.damp);
  EXPECT_EQ(codes_of(encode(*code, w_oi, {}, &large)), codes_of(encode(*code, w_oi, {}, &factor)));
}

TEST(Feedback, SaysWhyThereIsNoFactor) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  Stats stats;
  EXPECT_EQ(factor_of(stats).failure, "no calibration token reached it");
  stats.tokens = 3;
  stats.second_moment_ii = at::zeros({8, 8}, at::kDouble);
  EXPECT_EQ(factor_of(stats).failure, "its input was zero at every token");
  for (const double bad : {nan, inf}) {
    stats.second_moment_ii = at::eye(8, at::kDouble);
    stats.second_moment_ii[2][3].fill_(bad);
    EXPECT_EQ(factor_of(stats).failure, "the second moment of its input holds NaN or infinity");
  }
  stats.second_moment_ii = at::full({8, 8}, 1e9, at::kDouble);
  stats.second_moment_ii.diagonal().fill_(1.0);
  EXPECT_EQ(factor_of(stats).failure,
            "the second moment of its input has no Cholesky factor even at damping 1000");
}

TEST(Feedback, InputsAlwaysZeroKeepTheirRoundedWeight) {
  at::Tensor x_ti = correlated_inputs(300, 64, "x");
  x_ti.select(1, 5).fill_(0);
  x_ti.select(1, 40).fill_(0);
  const at::Tensor w_oi = normals({10, 64}, "w");
  const auto code = uniform_code(4, 32);
  const Factor factor = factor_of(stats_of(x_ti));
  EXPECT_EQ(factor.dead, 2);
  const at::Tensor v_oi = decode(encode(*code, w_oi, {}, &factor)),
                   plain_oi = decode(encode(*code, w_oi, {}, nullptr));
  for (const int64_t i : {5, 40}) EXPECT_TRUE(at::equal(v_oi.select(1, i), plain_oi.select(1, i)));
}

TEST(RoundGroup, NamesTheMatrixThatIsNotFinite) {
  MatrixGroup group{.id = "g",
                    .names = {"good.weight", "bad.weight"},
                    .weights_oi = {normals({4, 32}, "a"), normals({4, 32}, "b")}};
  group.weights_oi[1][2][3].fill_(std::numeric_limits<double>::quiet_NaN());
  const auto code = uniform_code(4, 32);
  const format::InputTransform none;
  try {
    const auto metric = make_metric(Choice(metric_alternatives(), "activation"));
    round_group(group, Stats(), {.code = *code, .transform = none, .metric = *metric});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_EQ(e.message().find("bad.weight"), 0u) << e.message();
  }
}

}  // namespace
}  // namespace cupel::core
