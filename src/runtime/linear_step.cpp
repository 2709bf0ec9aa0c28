// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/linear_step.h"

#include <algorithm>
#include <limits>

namespace cupel::runtime {
namespace {

// A few microseconds of arithmetic: a piece that is much smaller costs more to hand out than it
// saves.
constexpr int64_t kPieceWork = 65536;
// Normalising, transforming and quantizing one input, in multiplications of a linear layer.
constexpr int64_t kRowWorkPerInput = 16;

kernels::QuantizedInput rows_of(const kernels::QuantizedInput& all, int64_t row, int64_t count) {
  kernels::QuantizedInput some = all;
  some.m = count;
  some.first += row * all.k_padded;
  if (some.second) some.second += row * all.k_padded;
  some.scales += row * all.blocks();
  some.sums += row * all.blocks();
  return some;
}

/// The integers of a rounded row: x = scale * q, so x / scale lies next to q. A block with NaN gets
/// the scale NaN.
void take_integers(const float* x, std::span<const float> group_scales, int64_t group,
                   const kernels::QuantizedInput& out) {
  auto* codes = const_cast<int8_t*>(out.first);
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const int64_t begin = b * out.block, end = std::min<int64_t>(begin + out.block, out.k);
    const float scale = group_scales[static_cast<std::size_t>(begin / group)];
    bool sound = true;
    int32_t sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const float q = scale == 0 ? 0.0F : x[i] / scale;
      sound = sound && q == q;
      codes[i] = q == q ? static_cast<int8_t>(q < 0 ? q - 0.5F : q + 0.5F) : int8_t{0};
      sum += codes[i];
    }
    const_cast<float*>(out.scales)[b] = sound ? scale : std::numeric_limits<float>::quiet_NaN();
    const_cast<int32_t*>(out.sums)[b] = sum;
  }
  std::fill(codes + out.k, codes + out.k_padded, int8_t{0});
}

}  // namespace

bool takes_as_rounded(int block, const format::InputRounding& r) {
  return r.numbers == format::InputRounding::Numbers::integer &&
         (!r.dynamic() || r.group % block == 0);
}

int64_t grain_of(int64_t work) {
  return std::max<int64_t>(1, kPieceWork / std::max<int64_t>(1, work));
}

LinearStep::Quantized& LinearStep::quantized(int block, const format::InputRounding& rounding) {
  const bool as_rounded = takes_as_rounded(block, rounding);
  for (auto& form : forms_)
    if (form->input.block == block && form->as_rounded == as_rounded) return *form;
  forms_.push_back(std::make_unique<Quantized>());
  forms_.back()->input.block = block;
  forms_.back()->as_rounded = as_rounded;
  return *forms_.back();
}

void LinearStep::prepare(std::span<const LinearGroup> groups, int64_t k, int64_t m) {
  for (auto& form : forms_) form->used = false;
  for (const auto& group : groups)
    for (const auto& output : group.outputs) {
      if (!output.linear->form.quantized) continue;
      Quantized& form = quantized(output.linear->form.block, group.transform->rounding);
      if (form.used) continue;
      form.used = true;
      auto& input = form.input;
      input.m = m;
      input.k = k;
      input.k_padded = (input.k + 31) / 32 * 32;
      input.two_pass = two_pass_ && !form.as_rounded;
      input.first = form.first.reserve(m * input.k_padded);
      input.second = input.two_pass ? form.second.reserve(m * input.k_padded) : nullptr;
      input.scales = form.scales.reserve(m * input.blocks());
      input.sums = form.sums.reserve(m * input.blocks());
    }
}

void LinearStep::run(float* x, int64_t m, const kernels::RowTransform& transform,
                     std::span<const LinearOutput> outputs, const Produce& produce) {
  if (m == 0) return;
  const LinearGroup group{m, &transform, outputs};
  run(x, {&group, 1}, produce);
}

void LinearStep::run(float* x, std::span<const LinearGroup> groups, const Produce& produce) {
  int64_t m = 0;
  for (const auto& group : groups) m += group.rows;
  const int64_t k = groups[0].outputs[0].linear->cols;
  prepare(groups, k, m);
  make_rows(x, k, groups, m, produce);
  multiply(x, k, groups);
}

void LinearStep::make_rows(float* x, int64_t k, std::span<const LinearGroup> groups, int64_t m,
                           const Produce& produce) {
  pool_.for_range(m, grain_of(k * kRowWorkPerInput), [&](int64_t begin, int64_t end) {
    const LinearGroup* group = groups.data();
    int64_t group_end = group->rows;
    std::vector<float> scales(static_cast<std::size_t>(k));  // of groups: no more than inputs
    for (int64_t r = begin; r < end; ++r) {
      while (r >= group_end) group_end += (++group)->rows;
      produce(r);
      const kernels::RowTransform& t = *group->transform;
      if (!t.identity()) cpu_.transform(x + r * k, k, t);
      format::round_row(t.rounding, x + r * k, k, scales.data());
      for (const auto& form : forms_) {
        if (!form->used || form->as_rounded != takes_as_rounded(form->input.block, t.rounding))
          continue;
        const kernels::QuantizedInput row = rows_of(form->input, r, 1);
        if (form->as_rounded)
          take_integers(x + r * k, scales, t.rounding.group_width(k), row);
        else
          cpu_.quantize(x + r * k, k, row);
      }
    }
  });
}

void LinearStep::multiply(const float* x, int64_t k, std::span<const LinearGroup> groups) {
  int64_t units = 0, work = 0;
  for (const auto& group : groups)
    for (const auto& output : group.outputs) {
      units += output.linear->units;
      work += output.linear->rows * k * group.rows;
    }
  pool_.for_range(
      units, grain_of(work / std::max<int64_t>(1, units)), [&](int64_t begin, int64_t end) {
        int64_t first = 0, row = 0;
        for (const auto& group : groups) {
          for (const auto& [linear, y] : group.outputs) {
            const int64_t from = std::max<int64_t>(begin - first, 0),
                          to = std::min(end - first, linear->units);
            first += linear->units;
            if (from >= to) continue;
            kernels::QuantizedInput rows;
            if (linear->form.quantized)
              rows = rows_of(quantized(linear->form.block, group.transform->rounding).input, row,
                             group.rows);
            const kernels::LinearInput input{x + row * k, group.rows, k,
                                             linear->form.quantized ? &rows : nullptr};
            linear->run(input, y, linear->rows, from, to);
          }
          row += group.rows;
        }
      });
}

}  // namespace cupel::runtime
