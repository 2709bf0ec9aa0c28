// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/linear_step.h"

#include <algorithm>

namespace cupel::runtime {
namespace {

// A few microseconds of arithmetic: a piece that is much smaller costs more to hand out than it
// saves.
constexpr int64_t kPieceWork = 65536;
// Normalising, transforming and quantizing one input, in multiplications of a linear layer.
constexpr int64_t kRowWorkPerInput = 16;

kernels::QuantizedInput row_of(const kernels::QuantizedInput& all, int64_t row) {
  kernels::QuantizedInput one = all;
  one.m = 1;
  one.first += row * all.k_padded;
  if (one.second) one.second += row * all.k_padded;
  one.scales += row * all.blocks();
  one.sums += row * all.blocks();
  return one;
}

}  // namespace

int64_t grain_of(int64_t work) {
  return std::max<int64_t>(1, kPieceWork / std::max<int64_t>(1, work));
}

LinearStep::Quantized& LinearStep::quantized(int block) {
  for (auto& form : forms_)
    if (form->input.block == block) return *form;
  forms_.push_back(std::make_unique<Quantized>());
  forms_.back()->input.block = block;
  return *forms_.back();
}

void LinearStep::prepare(std::span<const LinearOutput> outputs, int64_t m) {
  for (auto& form : forms_) form->used = false;
  for (const auto& output : outputs) {
    if (!output.linear->form.quantized) continue;
    Quantized& form = quantized(output.linear->form.block);
    if (form.used) continue;
    form.used = true;
    auto& input = form.input;
    input.m = m;
    input.k = output.linear->cols;
    input.k_padded = (input.k + 31) / 32 * 32;
    input.two_pass = two_pass_;
    input.first = form.first.reserve(m * input.k_padded);
    input.second = two_pass_ ? form.second.reserve(m * input.k_padded) : nullptr;
    input.scales = form.scales.reserve(m * input.blocks());
    input.sums = form.sums.reserve(m * input.blocks());
  }
}

void LinearStep::run(float* x, int64_t m, const format::InputTransform& transform,
                     std::span<const LinearOutput> outputs,
                     const std::function<void(int64_t)>& produce) {
  if (m == 0) return;
  const int64_t k = outputs[0].linear->cols;
  prepare(outputs, m);
  const int8_t* signs = transform.signs.empty() ? nullptr : transform.signs.data();
  const float* scale = transform.scale.empty() ? nullptr : transform.scale.data();
  pool_.for_range(m, grain_of(k * kRowWorkPerInput), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      produce(r);
      if (!transform.identity()) cpu_.transform(x + r * k, k, transform.hadamard, signs, scale);
      for (const auto& form : forms_)
        if (form->used) cpu_.quantize(x + r * k, k, row_of(form->input, r));
    }
  });
  multiply(x, m, outputs);
}

void LinearStep::multiply(const float* x, int64_t m, std::span<const LinearOutput> outputs) {
  int64_t units = 0, work = 0;
  for (const auto& output : outputs) {
    units += output.linear->units;
    work += output.linear->rows * output.linear->cols * m;
  }
  pool_.for_range(units, grain_of(work / std::max<int64_t>(1, units)),
                  [&](int64_t begin, int64_t end) {
                    int64_t first = 0;
                    for (const auto& [linear, y] : outputs) {
                      const int64_t from = std::max<int64_t>(begin - first, 0),
                                    to = std::min(end - first, linear->units);
                      first += linear->units;
                      if (from >= to) continue;
                      const kernels::LinearInput input{
                          x, m, linear->cols,
                          linear->form.quantized ? &quantized(linear->form.block).input : nullptr};
                      linear->run(input, y, linear->rows, from, to);
                    }
                  });
}

}  // namespace cupel::runtime
