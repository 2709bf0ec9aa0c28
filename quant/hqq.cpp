// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: let a few large errors stand and make all others small: a norm below 1, no calibration.
// Formula: min |W - s (q - z)|_p^p; in turn E = shrink_p(W - s (q - z)) and the grid for W - E.
// Source: "Half-Quadratic Quantization of Large Machine Learning Models" (Badri, Shaji).
// Cost: about ten passes over the weights, a power of each.
// Differs: our zeros are stored integers, so the new zero is rounded, and the scale refitted to it
//   by least squares; a step counts only if the norm falls; errors are in steps of the grid, so
//   that beta means the same for every matrix; symmetric grids keep their zero.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/code.h"
#include "core/metric.h"
#include "core/parallel.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "format/layouts/uniform.h"
#include "quant/integer_grid.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct HqqParams : core::QuantizerParams {
  double norm = 0.7;
  double beta = 10;
  double growth = 1.01;
  int iterations = 20;
  core::ScaleRule scale = core::ScaleRule::minmax;
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("norm", norm, "p of the norm that the errors are measured in").in(0.1, 1);
    v.field("beta", beta,
            "how hard the errors that may stand are tied to all; in steps of the grid")
        .in(0.01, 1e6);
    v.field("growth", growth, "of beta in each iteration").in(1, 10);
    v.field("iterations", iterations, "at most; the first that gains nothing ends it").in(0, 1000);
    v.field("scale", scale, core::scale_rule_names(), "how the first grid is chosen");
  }
};

struct Grid {
  float scale, zero;
};

/// The grid of one group of weights. Keeps its buffers; one per thread.
class Solver {
 public:
  Solver(const HqqParams& params, const format::UniformLayout& layout)
      : params_(params),
        top_(static_cast<float>((1 << layout.bits_per_code()) - 1)),
        moves_zero_(!layout.symmetric()) {}

  /// The best grid found; codes() are on it.
  Grid solve(const float* w, int64_t n, Grid grid) {
    auto beta = static_cast<float>(params_.beta);
    Rounded trial;
    double least = judge(w, n, grid, beta, best_);
    for (int k = 0; k < params_.iterations; ++k) {
      const float zero = moves_zero_ ? best_zero(n, grid) : grid.zero;
      Grid next = refitted(n, grid, zero);
      beta *= static_cast<float>(params_.growth);
      double error = judge(w, n, next, beta, trial);
      if (!(error < least) && zero != grid.zero) {
        next = refitted(n, grid, grid.zero);
        error = judge(w, n, next, beta, trial);
      }
      if (!(error < least)) break;
      least = error;
      grid = next;
      std::swap(best_, trial);
    }
    return grid;
  }
  const std::vector<float>& codes() const { return best_.code; }

 private:
  struct Rounded {
    std::vector<float> code;    ///< 0 .. 2^b - 1
    std::vector<float> target;  ///< W - E
  };

  /// Rounds to the grid; the p-th power of the norm of the errors.
  double judge(const float* w, int64_t n, Grid grid, float beta, Rounded& out) const {
    out.code.resize(static_cast<std::size_t>(n));
    out.target.resize(static_cast<std::size_t>(n));
    const auto exponent = static_cast<float>(params_.norm - 1);
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float code = std::clamp(std::nearbyint(w[i] / grid.scale) + grid.zero, 0.0f, top_);
      const float error = w[i] - grid.scale * (code - grid.zero);
      const float steps = std::fabs(error) / grid.scale;
      const float slope = steps > 0 ? std::pow(steps, exponent) : 0.0f;  // |x|^(p - 1)
      const float stands = std::max(steps - slope / beta, 0.0f) * grid.scale;
      out.code[static_cast<std::size_t>(i)] = code;
      out.target[static_cast<std::size_t>(i)] = w[i] - std::copysign(stands, error);
      total += static_cast<double>(slope * steps);
    }
    return total * std::pow(static_cast<double>(grid.scale), params_.norm);
  }

  float best_zero(int64_t n, Grid grid) const {
    double sum = 0;
    for (std::size_t i = 0; i < best_.code.size(); ++i)
      sum += static_cast<double>(best_.code[i] - best_.target[i] / grid.scale);
    return std::clamp(static_cast<float>(std::nearbyint(sum / static_cast<double>(n))), 0.0f, top_);
  }

  /// The scale of least squares for the codes at hand and this zero, as it is stored.
  Grid refitted(int64_t n, Grid grid, float zero) const {
    double product = 0, square = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const float level = best_.code[i] - zero;
      product += static_cast<double>(level) * best_.target[i];
      square += static_cast<double>(level) * level;
    }
    const double scale = square > 0 ? product / square : 0;
    return {scale > 0 ? stored_scale(static_cast<float>(scale)) : grid.scale, zero};
  }

  const HqqParams& params_;
  float top_;
  bool moves_zero_;
  Rounded best_;
};

class Hqq : public core::Quantizer {
 public:
  using Parameters = HqqParams;
  explicit Hqq(const HqqParams& params)
      : params_(params),
        layout_(integer_layout("hqq", params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        plain_(core::make_metric(Choice(core::metric_alternatives(), "none"))) {}

  core::Needs needs() const override { return transform_->needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::plain);
    auto results = core::round_group(group, stats,
                                     {.code = *code_,
                                      .transform = made.transform,
                                      .metric = *plain_,
                                      .with_feedback = false,
                                      .note = made.note});
    for (std::size_t m = 0; m < results.size(); ++m)
      improve(core::transform_weight(made.transform, group.weights_oi[m]), results[m].code);
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  void improve(const at::Tensor& w_oi, format::WeightCode& code) const {
    constexpr int64_t kGrain = 16384;  // weights that are worth a thread
    const at::Tensor host_oi = core::host_float(w_oi);
    const float* w = host_oi.const_data_ptr<float>();
    IntegerArrays arrays(code, *layout_);
    const int64_t cols = code.cols, width = layout_->group_width(cols);
    core::parallel_for(
        0, code.rows, std::max<int64_t>(1, kGrain / cols), [&](int64_t begin, int64_t end) {
          Solver solver(params_, *layout_);
          for (int64_t o = begin; o < end; ++o)
            for (int64_t g = 0, i = 0; i < cols; ++g, i += width) {
              const Grid grid = solver.solve(w + o * cols + i, std::min(width, cols - i),
                                             {arrays.scale(o, g), arrays.zero(o, g)});
              arrays.set(o, g, grid.scale, grid.zero, solver.codes());
            }
        });
  }

  HqqParams params_;
  std::shared_ptr<const format::UniformLayout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> plain_;
};

}  // namespace

void add_hqq(Registry<core::Quantizer>& registry) {
  registry.add<Hqq>("hqq", "integer grids for a norm of the errors below 1, without calibration");
}

}  // namespace cupel::quant
