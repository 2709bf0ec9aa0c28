// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "tests/unit/kernels/kernel_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/rng.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"

namespace cupel::kernels {

using format::Array;
using format::ElementType;

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
    if (isa <= best_isa()) isas.push_back(isa);
  return isas;
}

std::vector<float> normals(int64_t n, const std::string& stream, double deviation) {
  Rng rng(7, stream);
  std::vector<float> out(static_cast<std::size_t>(n));
  for (float& x : out) x = static_cast<float>(deviation * rng.normal());
  return out;
}

std::string UniformSpec::name() const {
  return cat(bits, "-bit ", symmetric ? "sym" : "asym", " g", group, " [", rows, ", ", cols, "]");
}

namespace {

PackedTensor packed(const format::WeightCode& code) {
  PackedTensor out;
  out.planes = code.layout->pack(code);
  out.tensor = {.name = "w", .layout = code.layout, .rows = code.rows, .cols = code.cols};
  for (const auto& [name, array] : out.planes)
    out.tensor.planes[name] = {array.type, array.shape, array.bytes};
  return out;
}

}  // namespace

std::vector<float> PackedTensor::unpacked() const {
  std::vector<float> out(static_cast<std::size_t>(tensor.rows * tensor.cols));
  tensor.layout->unpack(tensor.planes, tensor.rows, tensor.cols, 0, tensor.rows, out);
  return out;
}

PackedTensor pack_uniform(const UniformSpec& spec, Fill fill) {
  format::UniformParams params;
  params.bits = spec.bits;
  params.group = spec.group;
  params.symmetric = spec.symmetric;
  const auto layout = std::make_shared<format::UniformLayout>(params);
  Rng rng(11, spec.name());
  const uint64_t levels = uint64_t{1} << spec.bits;
  const int64_t groups = layout->groups(spec.cols);
  std::vector<uint8_t> codes(static_cast<std::size_t>(spec.rows * spec.cols));
  std::vector<uint16_t> scales(static_cast<std::size_t>(spec.rows * groups));
  std::vector<uint8_t> zeros(scales.size());
  for (auto& code : codes)
    code = static_cast<uint8_t>(fill == Fill::largest ? levels - 1 : rng.below(levels));
  for (auto& scale : scales)
    scale = format::f32_to_f16(static_cast<float>(0.01 + 0.02 * rng.uniform()));
  for (auto& zero : zeros)
    zero = static_cast<uint8_t>(fill == Fill::largest ? 0 : rng.below(levels));
  format::WeightCode code{.layout = layout, .rows = spec.rows, .cols = spec.cols};
  code.arrays["codes"] = Array::of<uint8_t>(ElementType::u8, {spec.rows, spec.cols}, codes);
  code.arrays["scales"] = Array::of<uint16_t>(ElementType::f16, {spec.rows, groups}, scales);
  if (!spec.symmetric)
    code.arrays["zeros"] = Array::of<uint8_t>(ElementType::u8, {spec.rows, groups}, zeros);
  return packed(code);
}

PackedTensor pack_random(const std::string& layout, const std::string& params, int64_t rows,
                         int64_t cols) {
  format::WeightCode code{
      .layout = format::make_layout(layout, params), .rows = rows, .cols = cols};
  Rng rng(13, cat(layout, params, rows, "x", cols));
  code.arrays = code.layout->random_arrays(rows, cols, 0.05, rng);
  return packed(code);
}

PackedTensor pack_dense(ElementType type, int64_t rows, int64_t cols) {
  return packed(format::dense_code(type, rows, cols, normals(rows * cols, "dense weights", 0.05)));
}

CodedMatrix uniform_matrix(const PackedTensor& packed) {
  const auto& layout = dynamic_cast<const format::UniformLayout&>(*packed.tensor.layout);
  const auto bytes = [&](const char* name) { return packed.tensor.planes.at(name).bytes.data(); };
  return {.bits = layout.bits_per_code(),
          .rows = packed.tensor.rows,
          .cols = packed.tensor.cols,
          .group = layout.group_width(packed.tensor.cols),
          .codes = reinterpret_cast<const uint8_t*>(bytes("codes")),
          .scales = reinterpret_cast<const uint16_t*>(bytes("scales")),
          .zeros = layout.symmetric() ? nullptr : reinterpret_cast<const uint8_t*>(bytes("zeros")),
          .zero = 1 << (layout.bits_per_code() - 1)};
}

std::vector<BlockForm> block_forms(const UniformSpec& spec) {
  const int block = spec.group == 32 || spec.group == 64 ? spec.group : 128;
  return {{.block = block, .two_pass = true}, {.block = 32, .two_pass = false}};
}

QuantizedRows::QuantizedRows(int64_t m, int64_t k, BlockForm form) {
  view = {.m = m,
          .k = k,
          .k_padded = (k + 31) / 32 * 32,
          .block = form.block,
          .two_pass = form.two_pass};
  // 99 shows what a kernel leaves unwritten.
  first.assign(static_cast<std::size_t>(m * view.k_padded), 99);
  if (form.two_pass) second = first;
  scales.assign(static_cast<std::size_t>(m * view.blocks()), 99.0F);
  sums.assign(scales.size(), 99);
  view.first = first.data();
  view.second = form.two_pass ? second.data() : nullptr;
  view.scales = scales.data();
  view.sums = sums.data();
}

QuantizedRows::QuantizedRows(const std::vector<float>& x, int64_t m, int64_t k, BlockForm form,
                             Isa isa)
    : QuantizedRows(m, k, form) {
  cpu_kernels(isa).quantize(x.data(), k, view);
}

double QuantizedRows::value(int64_t r, int64_t i) const {
  const auto at = static_cast<std::size_t>(r * view.k_padded + i);
  const double scale = scales[static_cast<std::size_t>(r * view.blocks() + i / view.block)];
  return scale * (view.two_pass ? 254 * first[at] + second[at] : first[at]);
}

QuantizedInput QuantizedRows::row(int64_t r) const {
  QuantizedInput out = view;
  out.m = 1;
  out.first += r * view.k_padded;
  if (out.second != nullptr) out.second += r * view.k_padded;
  out.scales += r * view.blocks();
  out.sums += r * view.blocks();
  return out;
}

}  // namespace cupel::kernels
