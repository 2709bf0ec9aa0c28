// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/linear.h"

#include <algorithm>

#include "base/error.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"

namespace cupel::kernels {
namespace {

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

Linear prepare_uniform(const format::ArtifactTensor& tensor, Isa isa, bool int8_mode) {
  const auto& layout = layout_of<format::UniformLayout>(tensor);
  const UniformMatrix w{.bits = layout.bits_per_code(),
                        .rows = tensor.rows,
                        .cols = tensor.cols,
                        .group = layout.group_width(tensor.cols),
                        .codes = plane<uint8_t>(tensor, "codes"),
                        .scales = plane<uint16_t>(tensor, "scales"),
                        .zeros = layout.symmetric() ? nullptr : plane<uint8_t>(tensor, "zeros")};
  // An activation block must not cross a group. In two passes 128 is short enough for 15-bit
  // accuracy and for an exact int32 sum; in one pass the error of long blocks would show (KL 2.7e-3
  // at 32, 9e-3 at 128).
  const int exact_block = w.group == 32 || w.group == 64 ? static_cast<int>(w.group) : 128;
  Linear linear = shape_of(tensor);
  linear.form = {.quantized = true, .block = int8_mode ? 32 : exact_block};
  linear.run = [w, kernel = cpu_kernels(isa).uniform](const LinearInput& input, float* y,
                                                      int64_t ldy, int64_t begin, int64_t end) {
    kernel(w, *input.quantized, y, ldy, begin, end);
  };
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
      {"uniform", Device::cpu, Isa::scalar, prepare_uniform},
      {"dense", Device::cpu, Isa::scalar, prepare_dense},
      {"*", Device::cpu, Isa::scalar, prepare_unpack},
  };
  return kernels;
}

Linear prepare_linear(const format::ArtifactTensor& tensor, Device device, Isa isa,
                      bool int8_mode) {
  const std::string layout = tensor.layout->name();
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.device != device || kernel.minimum > isa) continue;
    if (kernel.layout == "*" || kernel.layout == layout)
      return kernel.prepare(tensor, isa, int8_mode);
  }
  fail(Fault::environment, tensor.name, ": no kernel for layout ", layout,
       device == Device::cuda ? " on CUDA in this build" : " on the CPU");
}

}  // namespace cupel::kernels
