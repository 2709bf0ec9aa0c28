// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: round input by input; those not yet rounded make up for what the earlier ones lost.
// Formula: H = F D F^T, target_p = w_p + sum_{q<p} (w_q - v_q) F_qp, v_p = code(target_p).
// Source: "GPTQ"; block LDL of "QuIP: 2-Bit Quantization of Large Language Models with Guarantees".
// Cost: rows n^2/2 multiplications in float32 per matrix; F: factor.cpp.
// Differs: no inverse of H (the codes are the same); scales are fixed beforehand; inputs that were
//   always zero keep their rounded weight.
//
// The loss is sum_p e_p D_p e_p^T with e_p = target_p - v_p: D_p is the metric of a tile.
//
// Axes: o outputs, i inputs, p positions, d inputs of a tile.
#include "core/feedback.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "core/feedback_device.h"
#include "core/feedback_kernels.h"
#include "core/parallel.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

// Rows that are rounded together: they share a cache-resident panel and one pass over F.
constexpr int64_t kPanelRows = 64;
// Outputs whose errors meet the others' only after the tile is done.
constexpr int64_t kTwoSidedRows = 16;

using kernels::round_up;

/// D of the tile that starts at position p: the tiles before it hold d entries per position.
const double* metric_of(const Factor& factor, int64_t p, int64_t tile) {
  return factor.metric.data() + p * tile;
}

struct Shape {
  int64_t inputs, tile, block;
};

Shape shape_of(const Code& code, const at::Tensor& w_oi, FeedbackBlock block) {
  const int64_t tile = code.tile().cols;
  return {.inputs = w_oi.size(1), .tile = tile, .block = round_up(std::max(block.inputs, 1), tile)};
}

/// One panel of rows: W^T in processing order, updated as residuals become known.
class Panel {
 public:
  Panel(const Shape& shape, int64_t width)
      : shape_(shape),
        width_(width),
        target_(static_cast<std::size_t>(shape.inputs * width)),
        residual_(static_cast<std::size_t>(shape.block * width)),
        value_(static_cast<std::size_t>(shape.tile * width)) {}

  /// Rows [row, row + rows) of w.
  void run(const float* w, int64_t row, int64_t rows, const Factor* factor, Encoding& out) {
    load(w, row, rows, factor);
    std::fill(residual_.begin(), residual_.end(), 0.0f);
    const float* f = factor ? factor->feedback_pp.const_data_ptr<float>() : nullptr;
    const int64_t n = shape_.inputs;
    for (int64_t begin = 0; begin < n; begin += shape_.block) {
      const int64_t end = std::min(n, begin + shape_.block);
      for (int64_t p = begin; p < end; p += shape_.tile) {
        const int64_t cols = std::min(shape_.tile, n - p), next = p + cols;
        const int64_t input = input_at(factor, p);
        out.encode({.row = row,
                    .rows = rows,
                    .col = input,
                    .cols = cols,
                    .stride = width_,
                    .target = at(p),
                    .value = value_.data(),
                    .metric_dd = factor ? metric_of(*factor, p, shape_.tile) : nullptr});
        if (!factor) continue;
        float* residual = residual_.data() + (p - begin) * width_;
        for (int64_t c = 0; c < cols; ++c)
          for (int64_t r = 0; r < rows; ++r)
            residual[c * width_ + r] = w[(row + r) * n + input + c] - value_[c * width_ + r];
        kernels::add_product(at(next), width_, {f + p * n + next, 1, n}, residual, width_,
                             end - next, cols, width_);
      }
      if (factor)
        kernels::add_product(at(end), width_, {f + begin * n + end, 1, n}, residual_.data(), width_,
                             n - end, end - begin, width_);
    }
  }

 private:
  float* at(int64_t p) { return target_.data() + p * width_; }
  int64_t input_at(const Factor* factor, int64_t p) const { return factor ? factor->inputs[p] : p; }
  void load(const float* w, int64_t row, int64_t rows, const Factor* factor) {
    for (int64_t p = 0; p < shape_.inputs; ++p) {
      const float* column = w + row * shape_.inputs + input_at(factor, p);
      for (int64_t r = 0; r < width_; ++r) at(p)[r] = r < rows ? column[r * shape_.inputs] : 0.0f;
    }
  }

  Shape shape_;
  int64_t width_;
  std::vector<float> target_;  ///< [p, width]: the rows of an input lie together
  std::vector<float> residual_, value_;
};

/// Rows [begin, end) of w.
void encode_rows(const at::Tensor& w_oi, int64_t begin, int64_t end, const Factor* factor,
                 const Shape& shape, int64_t tile_rows, Encoding& out) {
  const int64_t width =
      round_up(std::max<int64_t>(kPanelRows, tile_rows), std::lcm(kernels::kWidthStep, tile_rows));
  const float* w = w_oi.const_data_ptr<float>();
  parallel_for(0, (end - begin + width - 1) / width, 1, [&](int64_t first, int64_t last) {
    Panel panel(shape, width);
    for (int64_t k = first; k < last; ++k) {
      const int64_t row = begin + k * width;
      panel.run(w, row, std::min(width, end - row), factor, out);
    }
  });
}

/// Null for a factor that cannot be used.
const Factor* usable(const std::shared_ptr<const Factor>& factor) {
  return factor && factor->usable() ? factor.get() : nullptr;
}

/// An encoding that remembers what its codes decode to.
class Recorder : public Encoding {
 public:
  Recorder(Encoding& inner, int64_t rows, int64_t cols)
      : inner_(inner), value_io_(at::zeros({cols, rows}, at::kFloat)) {}
  void encode(const TileColumn& t) override {
    inner_.encode(t);
    float* values = value_io_.mutable_data_ptr<float>();
    for (int64_t c = 0; c < t.cols; ++c)
      std::copy_n(t.value + c * t.stride, t.rows, values + (t.col + c) * value_io_.size(1) + t.row);
  }
  format::WeightCode finish() override { return inner_.finish(); }
  const at::Tensor& value_io() const { return value_io_; }

 private:
  Encoding& inner_;
  at::Tensor value_io_;
};

/// Tiles of outputs in their natural order: with M = (what earlier tiles lost) fed in by the
/// outputs' factor, a tile is rounded like any other, as if its weight were W + M.
void encode_two_sided(const at::Tensor& w_oi, const RowFactor& rows, const Factor& outputs,
                      const Shape& shape, int64_t tile_rows, Recorder& out) {
  const int64_t step = round_up(kTwoSidedRows, tile_rows);
  at::Tensor shifted = w_oi.clone();
  for (int64_t o = rows.begin; o < rows.end; o += step) {
    const int64_t end = std::min(rows.end, o + step);
    if (o > 0) {
      const at::Tensor lost_oi = w_oi.slice(0, 0, o) - out.value_io().slice(1, 0, o).t();
      const at::Tensor feedback = outputs.feedback_pp.slice(0, 0, o).slice(1, o, end);
      shifted.slice(0, o, end).add_(at::matmul(feedback.t(), lost_oi));
    }
    encode_rows(shifted, o, end, usable(rows.factor), shape, tile_rows, out);
  }
}

/// One pass of coordinate descent over all inputs of some rows: rows do not depend on each other.
void descend(const at::Tensor& w_oi, const RowFactor& rows, Recorder& out) {
  const int64_t inputs = w_oi.size(1), count = rows.end - rows.begin;
  const float* moment = rows.moment_ii.const_data_ptr<float>();
  // A copy: the recorder's own numbers change while rows are encoded.
  const at::Tensor before_io =
      out.value_io().slice(1, rows.begin, rows.end).clone(at::MemoryFormat::Contiguous);
  const at::Tensor lost_io = w_oi.slice(0, rows.begin, rows.end).t() - before_io;
  at::Tensor pull_io = at::matmul(rows.moment_ii, lost_io).contiguous();  // (dW H)^T
  const float* before = before_io.const_data_ptr<float>();
  float* pull = pull_io.mutable_data_ptr<float>();
  parallel_for(0, (count + kPanelRows - 1) / kPanelRows, 1, [&](int64_t first, int64_t last) {
    std::vector<float> target(kPanelRows), value(kPanelRows);
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t row = panel * kPanelRows, n = std::min(kPanelRows, count - row);
      for (int64_t k = 0; k < inputs; ++k) {
        const float own = moment[k * inputs + k];
        if (!(own > 0)) continue;
        const int64_t at = k * count + row;
        for (int64_t r = 0; r < n; ++r) target[r] = before[at + r] + pull[at + r] / own;
        out.encode({.row = rows.begin + row,
                    .rows = n,
                    .col = k,
                    .cols = 1,
                    .stride = kPanelRows,
                    .target = target.data(),
                    .value = value.data()});
        for (int64_t r = 0; r < n; ++r) value[r] -= before[at + r];
        for (int64_t j = 0; j < inputs; ++j) {
          const float h_kj = moment[k * inputs + j];
          float* to = pull + j * count + row;
          for (int64_t r = 0; r < n; ++r) to[r] -= value[r] * h_kj;
        }
      }
    }
  });
}

/// The same factor with what the host reads in its memory.
std::shared_ptr<const Factor> on_host(const std::shared_ptr<const Factor>& factor) {
  if (!usable(factor) || factor->feedback_pp.device().is_cpu()) return factor;
  auto copy = std::make_shared<Factor>(*factor);
  copy->feedback_pp = copy->feedback_pp.cpu();
  return copy;
}

std::vector<RowFactor> on_host(std::vector<RowFactor> all) {
  for (RowFactor& rows : all) {
    rows.factor = on_host(rows.factor);
    if (rows.moment_ii.defined()) rows.moment_ii = host_float(rows.moment_ii);
  }
  return all;
}

void encode_on_host(const Code& code, const at::Tensor& w_oi, const std::vector<RowFactor>& all,
                    const FeedbackPlan& plan, Encoding& encoding) {
  const Shape shape = shape_of(code, w_oi, plan.block);
  const int64_t tile_rows = code.tile().rows;
  const std::vector<RowFactor> parts = on_host(all);
  const auto output_factor = on_host(plan.outputs);
  const Factor* outputs = usable(output_factor);
  if (!outputs && plan.passes == 0) {
    for (const RowFactor& rows : parts)
      encode_rows(w_oi, rows.begin, rows.end, usable(rows.factor), shape, tile_rows, encoding);
    return;
  }
  Recorder out(encoding, w_oi.size(0), w_oi.size(1));
  for (const RowFactor& rows : parts)
    if (outputs)
      encode_two_sided(w_oi, rows, *outputs, shape, tile_rows, out);
    else
      encode_rows(w_oi, rows.begin, rows.end, usable(rows.factor), shape, tile_rows, out);
  for (int pass = 0; pass < plan.passes; ++pass)
    for (const RowFactor& rows : parts)
      if (rows.moment_ii.defined()) descend(w_oi, rows, out);
}

}  // namespace

const EnumNames& feedback_order_names() {
  static const EnumNames names = {{"activation", static_cast<int>(FeedbackOrder::activation)},
                                  {"natural", static_cast<int>(FeedbackOrder::natural)}};
  return names;
}

void check_finite(const MatrixGroup& group) {
  for (std::size_t m = 0; m < group.names.size(); ++m)
    CUPEL_CHECK(at::isfinite(group.weights_oi[m]).all().item<bool>(), data, group.names[m],
                ": every weight must be finite, but it holds NaN or infinity; the checkpoint is "
                "damaged, or a step before this one diverged");
}

format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const Factor* factor, FeedbackBlock block) {
  // Shares without owning: the caller's factor outlives the call.
  const std::shared_ptr<const Factor> borrowed(std::shared_ptr<const Factor>(), factor);
  return encode(code, w_oi, metric,
                FeedbackPlan{.rows = {{.factor = borrowed, .moment_ii = {}}}, .block = block});
}

format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const FeedbackPlan& plan) {
  const c10::NoGradGuard no_grad;
  CUPEL_CHECK(plan.passes == 0 || code.tile().cols == 1, user,
              "coordinate descent passes are for scalar codes");
  std::vector<RowFactor> all = plan.rows;
  if (all.empty()) all.emplace_back();
  if (all.back().end < 0) all.back().end = w_oi.size(0);
  // What looks back at decoded values runs on the host, whatever the device can do.
  const bool stays =
      has_rounding_kernels(w_oi.device()) && !usable(plan.outputs) && plan.passes == 0;
  const at::Tensor w = stays ? w_oi.detach().to(at::kFloat).contiguous() : host_float(w_oi);
  const std::unique_ptr<Encoding> out = code.fit(w, metric);
  if (!round_on_device(w, all, *out)) encode_on_host(code, host_float(w), all, plan, *out);
  return out->finish();
}

int64_t inputs_of(const MatrixGroup& group) {
  CUPEL_ASSERT(!group.weights_oi.empty() && group.names.size() == group.weights_oi.size());
  CUPEL_ASSERT(group.weights_oi.front().numel() > 0);
  for (const at::Tensor& w : group.weights_oi) {
    CUPEL_ASSERT(w.dim() == 2 && w.size(1) == group.weights_oi.front().size(1));
  }
  return group.weights_oi.front().size(1);
}

}  // namespace cupel::core
