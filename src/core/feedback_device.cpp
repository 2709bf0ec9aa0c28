// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The feedback engine where the tensors live. Codes of scalars: a kernel feeds errors through
// blocks of 128 inputs, a matrix product feeds them into all later ones. Wider codes: tensor
// operations.
//
// Axes: o outputs, i inputs, p positions, c columns of a block.
#include "core/feedback_device.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/codes/levels.h"
#include "core/feedback_kernels.h"
#include "kernels/cuda/columns.h"

namespace cupel::core {
namespace {

namespace cuda = cupel::kernels::cuda;

/// A rule on the device, with the tensors behind its pointers.
class DeviceRule {
 public:
  DeviceRule(const ScalarRounding& r, at::Device device) {
    rule_.step_bg = view(r.step_bg, device);
    rule_.scale_bg = view(r.scale_bg, device);
    rule_.zero_bg = view(r.zero_bg, device);
    rule_.sign_bg = view(r.sign_bg, device);
    rule_.top = r.top;
    rule_.block_rows = r.block_rows;
    rule_.group_width = r.group_width;
    if (r.outer_o.defined()) {
      rule_.outer_o = keep(r.outer_o, device).const_data_ptr<float>();
      rule_.outer_stride = r.outer_o.numel() == 1 ? 0 : 1;
    }
    if (r.levels) set_levels(*r.levels, device);
  }
  const cuda::ScalarRule& rule() const { return rule_; }

 private:
  const at::Tensor& keep(const at::Tensor& t, at::Device device) {
    return kept_.emplace_back(t.to(device));
  }
  cuda::ScaleView view(const at::Tensor& t_bg, at::Device device) {
    if (!t_bg.defined()) return {};
    const at::Tensor& t = keep(t_bg, device);
    return {t.const_data_ptr<float>(), t.stride(0), t.stride(1)};
  }
  void set_levels(const Levels& levels, at::Device device) {
    const auto floats_of = [](const float* data, int64_t n) {
      return at::tensor(at::ArrayRef<float>(data, static_cast<std::size_t>(n)));
    };
    rule_.levels = levels.count();
    at::Tensor codes = at::empty({levels.count()}, at::kByte);
    for (int k = 0; k < levels.count(); ++k) codes.mutable_data_ptr<uint8_t>()[k] = levels.code(k);
    rule_.level = keep(floats_of(levels.values(), levels.count()), device).const_data_ptr<float>();
    rule_.threshold =
        keep(floats_of(levels.thresholds(), levels.count() - 1), device).const_data_ptr<float>();
    rule_.level_code = keep(codes, device).const_data_ptr<uint8_t>();
  }

  cuda::ScalarRule rule_;
  std::vector<at::Tensor> kept_;
};

/// Rows [rows.begin, rows.end) of w to their codes.
void round_rows(const at::Tensor& w_oi, const RowFactor& rows, const cuda::ScalarRule& rule,
                at::Tensor& code_oi) {
  const int64_t n = w_oi.size(1), count = rows.end - rows.begin;
  const at::Device device = w_oi.device();
  const bool feeds = rows.factor && rows.factor->usable();
  const at::Tensor order_p = feeds ? at::tensor(rows.factor->inputs).to(device)
                                   : at::arange(n, at::TensorOptions(at::kLong).device(device));
  const at::Tensor input_p = order_p.to(at::kInt);
  const at::Tensor weight_op = w_oi.slice(0, rows.begin, rows.end).index_select(1, order_p);
  const at::Tensor target_op = feeds ? weight_op.clone() : weight_op;
  at::Tensor code_op = at::empty({count, n}, code_oi.options());
  cuda::ColumnBlock block{.first_row = rows.begin,
                          .rows = count,
                          .positions = n,
                          .columns = n,
                          .input_p = input_p.const_data_ptr<int32_t>(),
                          .weight_op = weight_op.const_data_ptr<float>(),
                          .target_op = target_op.const_data_ptr<float>(),
                          .code_op = code_op.mutable_data_ptr<uint8_t>()};
  if (!feeds) {
    cuda::round_columns(rule, block, device.index());
  } else {
    const at::Tensor feedback_pp = rows.factor->feedback_pp.to(device).contiguous();
    at::Tensor residual_oc = at::empty({count, cuda::kBlockColumns}, w_oi.options());
    block.feedback_pp = feedback_pp.const_data_ptr<float>();
    block.residual_oc = residual_oc.mutable_data_ptr<float>();
    for (block.begin = 0; block.begin < n; block.begin += cuda::kBlockColumns) {
      block.columns = std::min<int64_t>(cuda::kBlockColumns, n - block.begin);
      cuda::round_columns(rule, block, device.index());
      const int64_t end = block.begin + block.columns;
      if (end < n)
        target_op.slice(1, end).addmm_(residual_oc.slice(1, 0, block.columns),
                                       feedback_pp.slice(0, block.begin, end).slice(1, end));
    }
  }
  code_oi.slice(0, rows.begin, rows.end).index_copy_(1, order_p, code_op);
}

/// Tiles in tensor operations: one small matrix product per tile, one large one per block.
void encode_columns(const at::Tensor& w_oi, const Factor* factor, int64_t tile, int64_t block,
                    Encoding& out) {
  const int64_t n = w_oi.size(1);
  const at::Tensor w_io = w_oi.t().contiguous();
  if (!factor) {
    for (int64_t p = 0; p < n; p += tile)
      out.encode_on_device(p, w_io.slice(0, p, std::min(n, p + tile)), nullptr);
    return;
  }
  const at::Tensor feedback_pp = factor->feedback_pp.to(w_io.device());
  const at::Tensor original_po = w_io.index_select(0, at::tensor(factor->inputs).to(w_io.device()));
  at::Tensor target_po = original_po.clone(),
             residual_po = at::zeros({block, w_io.size(1)}, w_io.options());
  const auto feed = [&](int64_t from, int64_t until, int64_t begin, int64_t end,
                        const at::Tensor& residual) {
    if (begin < end)
      target_po.slice(0, begin, end)
          .addmm_(feedback_pp.slice(0, from, until).slice(1, begin, end).t(), residual);
  };
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = std::min(n, begin + block);
    for (int64_t p = begin; p < end; p += tile) {
      const int64_t next = std::min(n, p + tile);
      const at::Tensor value = out.encode_on_device(factor->inputs[p], target_po.slice(0, p, next),
                                                    factor->metric.data() + p * tile);
      const at::Tensor residual = original_po.slice(0, p, next) - value;
      residual_po.slice(0, p - begin, next - begin).copy_(residual);
      feed(p, next, next, end, residual);
    }
    feed(begin, end, end, n, residual_po.slice(0, 0, end - begin));
  }
}

}  // namespace

bool has_rounding_kernels(at::Device device) {
  return device.is_cuda() && cuda::built();
}

bool round_on_device(const at::Tensor& w_oi, const std::vector<RowFactor>& all, Encoding& out) {
  if (!has_rounding_kernels(w_oi.device())) return false;
  const auto rounding = out.scalar_rounding();
  if (!rounding) return false;
  const DeviceRule device_rule(*rounding, w_oi.device());
  at::Tensor code_oi = at::empty(w_oi.sizes(), w_oi.options().dtype(at::kByte));
  for (const RowFactor& rows : all) round_rows(w_oi, rows, device_rule.rule(), code_oi);
  out.set_codes(code_oi);
  return true;
}

format::WeightCode encode_in_tensor_ops(const Code& code, const at::Tensor& w_oi,
                                        const Metric& metric, const Factor* factor,
                                        FeedbackBlock block) {
  const c10::NoGradGuard no_grad;
  const at::Tensor w = w_oi.to(at::kFloat).contiguous();
  const std::unique_ptr<Encoding> encoding = code.fit(w, metric);
  const int64_t tile = code.tile().cols;
  encode_columns(w, factor, tile, kernels::round_up(std::max(block.inputs, 1), tile), *encoding);
  return encoding->finish();
}

}  // namespace cupel::core
