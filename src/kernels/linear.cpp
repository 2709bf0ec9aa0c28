// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/linear.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"

namespace cupel::kernels {
namespace {

using format::ScaleType;

constexpr int64_t kUnit = 16;  // outputs

template <class T>
const T* plane(const format::ArtifactTensor& tensor, const char* name) {
  const auto found = tensor.planes.find(name);
  CUPEL_CHECK(found != tensor.planes.end(), internal, tensor.name, ": plane \"", name,
              "\" is missing");
  return reinterpret_cast<const T*>(found->second.bytes.data());
}

Linear shape_of(const format::ArtifactTensor& tensor) {
  return {.rows = tensor.rows, .cols = tensor.cols, .units = (tensor.rows + kUnit - 1) / kUnit};
}

template <class T>
const T& layout_of(const format::ArtifactTensor& tensor) {
  const auto* layout = dynamic_cast<const T*>(tensor.layout.get());
  CUPEL_CHECK(layout != nullptr, internal, tensor.name,
              ": its layout does not have the type of its name, ", tensor.layout->name());
  return *layout;
}

Linear coded_linear(const format::ArtifactTensor& tensor, const CodedMatrix& w, Isa isa,
                    bool int8_mode) {
  // An activation block must not cross a group. In two passes 128 is short enough for 15-bit
  // accuracy and for an exact int32 sum; in one pass the error of long blocks would show (KL 2.7e-3
  // at 32, 9e-3 at 128).
  const int64_t longest = int8_mode ? 32 : 128;
  Linear linear = shape_of(tensor);
  linear.form = {
      .quantized = true,
      .block = static_cast<int>(w.group >= longest || w.group >= w.cols ? longest : w.group)};
  linear.run = [w, kernel = cpu_kernels(isa).coded](const LinearInput& input, float* y, int64_t ldy,
                                                    int64_t begin, int64_t end) {
    kernel(w, *input.quantized, y, ldy, begin, end);
  };
  return linear;
}

Linear prepare_uniform(const format::ArtifactTensor& tensor, Isa isa, bool int8_mode) {
  const auto& layout = layout_of<format::UniformLayout>(tensor);
  return coded_linear(tensor,
                      {.bits = layout.bits_per_code(),
                       .rows = tensor.rows,
                       .cols = tensor.cols,
                       .group = layout.group_width(tensor.cols),
                       .codes = plane<uint8_t>(tensor, "codes"),
                       .scales = plane<uint16_t>(tensor, "scales"),
                       .zeros = layout.symmetric() ? nullptr : plane<uint8_t>(tensor, "zeros"),
                       .zero = 1 << (layout.bits_per_code() - 1)},
                      isa, int8_mode);
}

/// Grids of whole levels with a scale per row and group. Others are unpacked.
bool is_coded(const format::ArtifactTensor& tensor) {
  const auto* layout = dynamic_cast<const format::GridLayout*>(tensor.layout.get());
  if (layout == nullptr) return false;
  const format::GridSpec& spec = layout->spec();
  const int64_t group = layout->block_cols(tensor.cols);
  return spec.bits <= 6 && spec.block_rows == 1 && !spec.mirror && !spec.trits &&
         (spec.scale == ScaleType::f16 || spec.scale == ScaleType::e4m3 ||
          spec.scale == ScaleType::e8m0 || spec.scale == ScaleType::multiplier) &&
         (group == 16 || group == 32 || group == 64 || group % 128 == 0 || group >= tensor.cols) &&
         format::whole_levels(spec).has_value();
}

Linear prepare_grid(const format::ArtifactTensor& tensor, Isa isa, bool int8_mode) {
  const auto& layout = layout_of<format::GridLayout>(tensor);
  const format::WholeLevels levels = *format::whole_levels(layout.spec());
  // Numbers are stored from 0 up: kernels multiply unsigned bytes by signed ones.
  constexpr int kZero = 128;
  auto table = std::make_shared<std::array<uint8_t, 64>>();
  for (std::size_t k = 0; k < levels.number.size(); ++k)
    (*table)[k] = static_cast<uint8_t>(levels.number[k] + kZero);
  CodedMatrix w{.bits = layout.spec().bits,
                .rows = tensor.rows,
                .cols = tensor.cols,
                .group = layout.block_cols(tensor.cols),
                .codes = plane<uint8_t>(tensor, "codes"),
                .table = table->data(),
                .scale_type = layout.spec().scale,
                .scales = plane<uint8_t>(tensor, "scales"),
                .zero = kZero,
                .unit = levels.unit};
  if (layout.spec().outer == format::OuterScale::tensor) w.unit *= *plane<float>(tensor, "outer");
  if (layout.spec().outer == format::OuterScale::row) w.outer_o = plane<float>(tensor, "outer");
  Linear linear = coded_linear(tensor, w, isa, int8_mode);
  linear.owned = std::move(table);
  return linear;
}

Linear prepare_dense(const format::ArtifactTensor& tensor, Isa isa, bool /*int8_mode*/) {
  const DenseMatrix w{.type = layout_of<format::DenseLayout>(tensor).type(),
                      .rows = tensor.rows,
                      .cols = tensor.cols,
                      .values = plane<std::byte>(tensor, "values")};
  Linear linear = shape_of(tensor);
  linear.run = [w, kernel = cpu_kernels(isa).dense](const LinearInput& input, float* y, int64_t ldy,
                                                    int64_t begin, int64_t end) {
    kernel(w, input.x, input.ldx, input.m, y, ldy, begin * kUnit, std::min(end * kUnit, w.rows));
  };
  return linear;
}

/// Any layout: 16 outputs at a time through its own unpack, multiplied in float32.
Linear prepare_unpack(const format::ArtifactTensor& tensor, Isa isa, bool /*int8_mode*/) {
  Linear linear = shape_of(tensor);
  linear.run = [layout = tensor.layout, planes = tensor.planes, rows = tensor.rows,
                cols = tensor.cols, kernel = cpu_kernels(isa).dense](
                   const LinearInput& input, float* y, int64_t ldy, int64_t begin, int64_t end) {
    std::vector<float> values(static_cast<std::size_t>(kUnit * cols));
    for (int64_t row = begin * kUnit; row < std::min(end * kUnit, rows); row += kUnit) {
      const int64_t count = std::min(kUnit, rows - row);
      layout->unpack(planes, rows, cols, row, count,
                     {values.data(), static_cast<std::size_t>(count * cols)});
      const DenseMatrix w{.rows = count, .cols = cols, .values = values.data()};
      kernel(w, input.x, input.ldx, input.m, y + row, ldy, 0, count);
    }
  };
  return linear;
}

}  // namespace

const std::vector<LinearKernel>& linear_kernels() {
  static const std::vector<LinearKernel> kernels = {
      // CUDA kernels come here, before the CPU's.
      {"uniform", Device::cpu, Isa::scalar, nullptr, prepare_uniform},
      {"dense", Device::cpu, Isa::scalar, nullptr, prepare_dense},
      {"*", Device::cpu, Isa::scalar, is_coded, prepare_grid},
      {"*", Device::cpu, Isa::scalar, nullptr, prepare_unpack},
  };
  return kernels;
}

Linear prepare_linear(const format::ArtifactTensor& tensor, Device device, Isa isa,
                      bool int8_mode) {
  const std::string layout = tensor.layout->name();
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.device != device || kernel.minimum > isa) continue;
    if (kernel.fits != nullptr && !kernel.fits(tensor)) continue;
    if (kernel.layout == "*" || kernel.layout == layout)
      return kernel.prepare(tensor, isa, int8_mode);
  }
  fail(Fault::environment, tensor.name, ": no kernel for layout ", layout,
       device == Device::cuda ? " on CUDA in this build" : " on the CPU");
}

}  // namespace cupel::kernels
