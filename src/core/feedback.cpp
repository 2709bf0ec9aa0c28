// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: round input by input; those not yet rounded make up for what the earlier ones lost.
// Formula: H = F D F^T, target_p = w_p + sum_{q<p} (w_q - v_q) F_qp, v_p = code(target_p).
// Source: "GPTQ"; block LDL of "QuIP: 2-Bit Quantization of Large Language Models with Guarantees".
// Cost: n^3/6 multiplications in float64 for F, rows n^2/2 in float32 per matrix.
// Differs: no inverse of H, F comes from its own Cholesky factor run backwards (the codes are the
//   same); scales are fixed beforehand; inputs that were always zero keep their rounded weight.
//
// The loss is sum_p e_p D_p e_p^T with e_p = target_p - v_p: D_p is the metric of a tile.
//
// Axes: o outputs, i inputs, p positions, d inputs of a tile.
#include "core/feedback.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "core/feedback_kernels.h"
#include "core/tensor_util.h"
#include "core/transform.h"

namespace cupel::core {
namespace {

// Rows that are rounded together: they share a cache-resident panel and one pass over F.
constexpr int64_t kPanelRows = 64;
// Outputs whose errors meet the others' only after the tile is done.
constexpr int64_t kTwoSidedRows = 16;
// Entries of F that one thread unfolds at a time.
constexpr int64_t kGrain = 32768;
constexpr int64_t kGatheredRows = 1024;
constexpr double kLargestDamp = 1e3;
// Below this share of the mean diagonal a pivot is noise, and its feedback would be too.
constexpr double kSmallestPivot = 1e-9;

int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/// The diagonal of inputs that were always zero is replaced by the mean of the others.
struct Moment {
  at::Tensor h_ii;  ///< a sum over tokens; its own diagonal is not read any more
  double tokens = 0;
  std::vector<double> diagonal_i;  ///< per token
  double mean = 0;
  int64_t dead = 0;
};

Moment prepare(const at::Tensor& h_ii, int64_t tokens) {
  Moment m{.h_ii = h_ii, .tokens = static_cast<double>(tokens)};
  const at::Tensor diagonal_i = (h_ii.diagonal() / m.tokens).cpu().contiguous();
  const double* first = diagonal_i.const_data_ptr<double>();
  m.diagonal_i.assign(first, first + diagonal_i.numel());
  double sum = 0;
  for (const double d : m.diagonal_i) {
    sum += std::max(d, 0.0);
    m.dead += d <= 0;
  }
  if (sum <= 0) return m;
  m.mean = sum / static_cast<double>(diagonal_i.numel() - m.dead);
  if (m.dead == 0) return m;
  // In a semidefinite moment their rows are zero already; in another one they must not matter.
  const at::Tensor alive_i = (h_ii.diagonal() > 0).to(at::kDouble);
  m.h_ii = h_ii * alive_i * alive_i.unsqueeze(1);
  for (double& d : m.diagonal_i) d = d > 0 ? d : m.mean;
  return m;
}

/// Inputs by position. Tiles stay whole; a short last tile stays last, so that positions cut into
/// tiles evenly.
std::vector<int64_t> processing_order(const at::Tensor& energy_i, int64_t tile,
                                      FeedbackOrder order) {
  const int64_t n = energy_i.size(0);
  std::vector<int64_t> tiles(static_cast<std::size_t>((n + tile - 1) / tile));
  std::iota(tiles.begin(), tiles.end(), int64_t{0});
  if (order == FeedbackOrder::activation) {
    const at::Tensor host_i = energy_i.cpu().contiguous();
    std::vector<double> energy(tiles.size());
    for (int64_t i = 0; i < n; ++i) energy[i / tile] += host_i.const_data_ptr<double>()[i];
    std::stable_sort(tiles.begin(), tiles.begin() + n / tile,
                     [&](int64_t a, int64_t b) { return energy[a] > energy[b]; });
  }
  std::vector<int64_t> inputs;
  for (const int64_t t : tiles)
    for (int64_t i = t * tile; i < std::min(n, (t + 1) * tile); ++i) inputs.push_back(i);
  return inputs;
}

/// H per token + damping in reverse order of processing, padded with a diagonal to whole tiles of
/// the factorisation: its lower Cholesky factor, read backwards, is the upper one that runs
/// forward.
at::Tensor reversed(const Moment& moment, const std::vector<int64_t>& inputs, double damp) {
  const at::Tensor& h_ii = moment.h_ii;
  const int64_t n = h_ii.size(0);
  const int64_t padded = h_ii.device().is_cpu() ? round_up(n, kernels::kCholeskyTile) : n;
  const std::vector<int64_t> backwards(inputs.rbegin(), inputs.rend());
  const at::Tensor index = at::tensor(backwards).to(h_ii.device());
  at::Tensor a = at::zeros({padded, padded}, h_ii.options());
  // In pieces: rows of 14336 inputs would be held twice more, 1.6 GB each time.
  for (int64_t row = 0; row < n; row += kGatheredRows) {
    const int64_t end = std::min(n, row + kGatheredRows);
    a.slice(0, row, end)
        .slice(1, 0, n)
        .copy_(h_ii.index_select(0, index.slice(0, row, end)).index_select(1, index) /
               moment.tokens);
  }
  std::vector<double> diagonal(static_cast<std::size_t>(padded), moment.mean);
  for (int64_t k = 0; k < n; ++k)
    diagonal[k] = moment.diagonal_i[backwards[k]] + damp * moment.mean;
  a.diagonal().copy_(at::tensor(diagonal));
  return a;
}

/// The lower Cholesky factor of a, which it may overwrite, on the host; undefined if there is none.
at::Tensor lower_factor(at::Tensor a, double smallest_pivot) {
  if (a.device().is_cpu())
    return kernels::cholesky(a.mutable_data_ptr<double>(), a.size(0), smallest_pivot)
               ? a
               : at::Tensor();
  const auto [lower, info] = at::linalg_cholesky_ex(a);
  const bool works = info.item<int>() == 0 && at::isfinite(lower).all().item<bool>() &&
                     lower.diagonal().min().item<double>() >= std::sqrt(smallest_pivot);
  // On a device the factor comes column by column; it is read row by row.
  return works ? lower.cpu().contiguous() : at::Tensor();
}

/// F and D from the reversed lower factor: R = F (block diagonal of R), D = R_kk R_kk^T for R read
/// backwards.
void unfold(const at::Tensor& lower, int64_t tile, Factor& factor) {
  const auto n = static_cast<int64_t>(factor.inputs.size()), ld = lower.size(1);
  factor.feedback_pp = at::empty({n, n}, at::kFloat);
  float* f = factor.feedback_pp.mutable_data_ptr<float>();
  const double* l = lower.const_data_ptr<double>();
  const auto r = [&](int64_t row, int64_t col) {
    return row > col ? 0.0 : l[(n - 1 - row) * ld + n - 1 - col];
  };
  at::parallel_for(0, n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    std::vector<double> x(static_cast<std::size_t>(tile));
    for (int64_t p = begin; p < end; ++p) {
      std::fill(f + p * n, f + p * n + p / tile * tile, 0.0f);
      for (int64_t k = p / tile * tile; k < n; k += tile) {
        const int64_t width = std::min(tile, n - k);
        for (int64_t c = 0; c < width; ++c) {
          double sum = r(p, k + c);
          for (int64_t b = 0; b < c; ++b) sum -= x[b] * r(k + b, k + c);
          x[c] = sum / r(k + c, k + c);
          f[p * n + k + c] = static_cast<float>(x[c]);
        }
      }
    }
  });
  for (int64_t k = 0; k < n; k += tile)
    for (int64_t row = k, end = std::min(n, k + tile); row < end; ++row)
      for (int64_t col = k; col < end; ++col) {
        double sum = 0;
        for (int64_t c = std::max(row, col); c < end; ++c) sum += r(row, c) * r(col, c);
        factor.metric.push_back(sum);
      }
}

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
  at::parallel_for(0, (end - begin + width - 1) / width, 1, [&](int64_t first, int64_t last) {
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
  at::parallel_for(0, (count + kPanelRows - 1) / kPanelRows, 1, [&](int64_t first, int64_t last) {
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

/// The same in tensor operations: one small matrix product per tile, one large one per block.
void encode_columns(const at::Tensor& w_oi, const Factor* factor, const Shape& shape,
                    Encoding& out) {
  const int64_t n = shape.inputs;
  const at::Tensor w_io = w_oi.t().contiguous();
  if (!factor) {
    for (int64_t p = 0; p < n; p += shape.tile)
      out.encode_on_device(p, w_io.slice(0, p, std::min(n, p + shape.tile)), nullptr);
    return;
  }
  const at::Tensor feedback_pp = factor->feedback_pp.to(w_io.device());
  const at::Tensor original_po = w_io.index_select(0, at::tensor(factor->inputs).to(w_io.device()));
  at::Tensor target_po = original_po.clone(),
             residual_po = at::zeros({shape.block, w_io.size(1)}, w_io.options());
  const auto feed = [&](int64_t from, int64_t until, int64_t begin, int64_t end,
                        const at::Tensor& residual) {
    if (begin < end)
      target_po.slice(0, begin, end)
          .addmm_(feedback_pp.slice(0, from, until).slice(1, begin, end).t(), residual);
  };
  for (int64_t begin = 0; begin < n; begin += shape.block) {
    const int64_t end = std::min(n, begin + shape.block);
    for (int64_t p = begin; p < end; p += shape.tile) {
      const int64_t next = std::min(n, p + shape.tile);
      const at::Tensor value = out.encode_on_device(factor->inputs[p], target_po.slice(0, p, next),
                                                    metric_of(*factor, p, shape.tile));
      const at::Tensor residual = original_po.slice(0, p, next) - value;
      residual_po.slice(0, p - begin, next - begin).copy_(residual);
      feed(p, next, next, end, residual);
    }
    feed(begin, end, end, n, residual_po.slice(0, 0, end - begin));
  }
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

Factor factorise(const at::Tensor& second_moment_ii, int64_t tokens, int tile_cols,
                 const FeedbackOptions& options) {
  const c10::NoGradGuard no_grad;
  Factor factor;
  const auto without = [&](std::string why) {
    factor.failure = std::move(why);
    return factor;
  };
  if (tokens <= 0) return without("no calibration token reached it");
  CUPEL_ASSERT(second_moment_ii.defined());
  const at::Tensor h_ii = second_moment_ii.to(at::kDouble);
  if (!at::isfinite(h_ii).all().item<bool>())
    return without("the second moment of its input holds NaN or infinity");
  const Moment moment = prepare(h_ii, tokens);
  factor.dead = moment.dead;
  if (moment.mean <= 0) return without("its input was zero at every token");
  // Dead inputs come last by their own energy, not by what stands in for it.
  factor.inputs = processing_order(h_ii.diagonal() / moment.tokens, tile_cols, options.order);
  for (factor.damp = options.damp; factor.damp <= kLargestDamp;
       factor.damp = factor.damp > 0 ? 10 * factor.damp : FeedbackOptions().damp) {
    const at::Tensor lower =
        lower_factor(reversed(moment, factor.inputs, factor.damp), kSmallestPivot * moment.mean);
    if (!lower.defined()) continue;
    unfold(lower, tile_cols, factor);
    return factor;
  }
  return without(
      cat("the second moment of its input has no Cholesky factor even at damping ", kLargestDamp));
}

format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const Factor* factor, FeedbackBlock block) {
  const c10::NoGradGuard no_grad;
  // On the host, wherever the model is: a column at a time is work for caches, not for launches of
  // a GPU.
  const at::Tensor w = w_oi.to(at::kCPU, at::kFloat).contiguous();
  const std::unique_ptr<Encoding> encoding = code.fit(w, metric);
  encode_rows(w, 0, w.size(0), factor, shape_of(code, w, block), code.tile().rows, *encoding);
  return encoding->finish();
}

format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const FeedbackPlan& plan) {
  const c10::NoGradGuard no_grad;
  const at::Tensor w = w_oi.to(at::kCPU, at::kFloat).contiguous();
  const std::unique_ptr<Encoding> inner = code.fit(w, metric);
  Recorder out(*inner, w.size(0), w.size(1));
  const Shape shape = shape_of(code, w, plan.block);
  std::vector<RowFactor> all = plan.rows;
  if (all.empty()) all.emplace_back();
  if (all.back().end < 0) all.back().end = w.size(0);
  for (const RowFactor& rows : all) {
    if (const Factor* outputs = usable(plan.outputs))
      encode_two_sided(w, rows, *outputs, shape, code.tile().rows, out);
    else
      encode_rows(w, rows.begin, rows.end, usable(rows.factor), shape, code.tile().rows, out);
  }
  CUPEL_CHECK(plan.passes == 0 || shape.tile == 1, user,
              "coordinate descent passes are for scalar codes");
  for (int pass = 0; pass < plan.passes; ++pass)
    for (const RowFactor& rows : all)
      if (rows.moment_ii.defined()) descend(w, rows, out);
  return inner->finish();
}

format::WeightCode encode_in_tensor_ops(const Code& code, const at::Tensor& w_oi,
                                        const Metric& metric, const Factor* factor,
                                        FeedbackBlock block) {
  const c10::NoGradGuard no_grad;
  const at::Tensor w = w_oi.to(at::kFloat).contiguous();
  const std::unique_ptr<Encoding> encoding = code.fit(w, metric);
  encode_columns(w, factor, shape_of(code, w, block), *encoding);
  return encoding->finish();
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
