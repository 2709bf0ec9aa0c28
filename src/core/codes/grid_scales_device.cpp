// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "core/codes/grid_scales.h"
#include "core/codes/scale_search.h"
#include "core/feedback_device.h"
#include "core/tensor_util.h"
#include "kernels/cuda/columns.h"

namespace cupel::core {
namespace {

namespace cuda = cupel::kernels::cuda;

class DeviceFitter : public BlockFitter {
 public:
  explicit DeviceFitter(const GridProblem& p) : w_oi_(p.w_oi) {
    const int64_t rows = w_oi_.size(0), cols = w_oi_.size(1);
    const at::Device device = w_oi_.device();
    level_ = floats(p.levels.values(), p.levels.count());
    threshold_ = floats(p.levels.thresholds(), p.levels.count() - 1);
    if (p.metric.weight.defined()) weight_ = p.metric.weight.to(device).contiguous();
    blocks_ = p.layout.row_blocks(rows);
    groups_ = p.layout.col_blocks(cols);
    fit_ = {.rows = rows,
            .inputs = cols,
            .block_rows = p.layout.block_rows(rows),
            .block_cols = p.layout.block_cols(cols),
            .w_oi = w_oi_.const_data_ptr<float>(),
            .weight_oi = weight_.defined() ? weight_.const_data_ptr<float>() : nullptr,
            .weight_row_stride = weight_.defined() && weight_.dim() == 2 ? cols : 0,
            .kind = scale_kind(p.layout, p.levels, p.rule),
            .search = p.rule != ScaleRule::minmax,
            .levels = p.levels.count(),
            .level = level_.const_data_ptr<float>(),
            .threshold = threshold_.const_data_ptr<float>()};
  }

  std::vector<uint32_t> bits_bg(const std::vector<float>& outer) const override {
    const at::Tensor host = run(outer, nullptr).cpu();
    const int32_t* first = host.const_data_ptr<int32_t>();
    return {first, first + host.numel()};
  }
  std::vector<double> error_b(const std::vector<float>& outer) const override {
    at::Tensor sums = at::empty({blocks_}, w_oi_.options().dtype(at::kDouble));
    run(outer, sums.mutable_data_ptr<double>());
    const at::Tensor host = sums.cpu();
    const double* first = host.const_data_ptr<double>();
    return {first, first + host.numel()};
  }

 private:
  at::Tensor floats(const float* data, int64_t n) const {
    return at::tensor(at::ArrayRef<float>(data, static_cast<std::size_t>(n))).to(w_oi_.device());
  }
  /// The bits, int32 [b, g]; sums of errors [b] where they are wanted.
  at::Tensor run(const std::vector<float>& outer, double* error_b) const {
    at::Tensor bits = at::empty({blocks_, groups_}, w_oi_.options().dtype(at::kInt)), outer_b;
    at::Tensor errors;
    cuda::GridFit fit = fit_;
    fit.bits_bg = bits.mutable_data_ptr<int32_t>();
    if (!outer.empty()) {
      outer_b = floats(outer.data(), static_cast<int64_t>(outer.size()));
      fit.outer_b = outer_b.const_data_ptr<float>();
      fit.outer_stride = outer.size() == 1 ? 0 : 1;
    }
    if (error_b) {
      errors = at::empty({blocks_, groups_}, w_oi_.options().dtype(at::kDouble));
      fit.error_bg = errors.mutable_data_ptr<double>();
      fit.error_b = error_b;
    }
    cuda::fit_grid(fit, w_oi_.device().index());
    return bits;
  }

  at::Tensor w_oi_, level_, threshold_, weight_;
  int64_t blocks_ = 0, groups_ = 0;
  cuda::GridFit fit_;
};

}  // namespace

bool fits_on_device(const GridProblem& p) {
  const int64_t rows = p.w_oi.size(0), cols = p.w_oi.size(1);
  return has_rounding_kernels(p.w_oi.device()) && p.rule != ScaleRule::exact &&
         p.levels.count() <= cuda::kMostLevels &&
         p.layout.block_rows(rows) * p.layout.block_cols(cols) <= cuda::kLargestBlock;
}

std::unique_ptr<BlockFitter> device_fitter(const GridProblem& problem) {
  return std::make_unique<DeviceFitter>(problem);
}

}  // namespace cupel::core
