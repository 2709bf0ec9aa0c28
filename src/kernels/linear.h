// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "format/artifact.h"
#include "kernels/cpu.h"

namespace cupel::kernels {

enum class Device { cpu, cuda };

/// The form in which a kernel wants its input.
struct InputForm {
  bool quantized = false;  ///< false: float32 rows
  int block = 0;           ///< of the quantized form
  friend bool operator==(const InputForm&, const InputForm&) = default;
};

/// Input rows in every form that a kernel asked for.
struct LinearInput {
  const float* x = nullptr;  ///< [m, k], transform applied
  int64_t m = 0, ldx = 0;
  const QuantizedInput* quantized = nullptr;
};

/// One stored matrix made ready to multiply: `run(input, y, ldy, begin, end)` computes outputs of
/// units [begin, end) (a unit is what a thread takes: a stripe of 16 outputs). Holds views into the
/// artifact, which must outlive it.
struct Linear {
  int64_t rows = 0, cols = 0, units = 0;
  InputForm form;
  std::shared_ptr<const void> owned;  ///< what `run` reads beside the artifact
  std::function<void(const LinearInput& input, float* y, int64_t ldy, int64_t begin, int64_t end)>
      run;
};

/// One row of the kernel table: which layout on which device, whether it takes this matrix (null:
/// all of the layout), and how to prepare it.
/// `int8_mode` asks for single-pass activations. Entries come in order of preference; `unpack`
/// takes every layout and is last.
struct LinearKernel {
  std::string_view layout;  ///< "*" takes all
  Device device;
  Isa minimum;
  bool (*fits)(const format::ArtifactTensor& tensor);
  Linear (*prepare)(const format::ArtifactTensor& tensor, Isa isa, bool int8_mode);
};
const std::vector<LinearKernel>& linear_kernels();

/// The first kernel of the table that fits, prepared.
Linear prepare_linear(const format::ArtifactTensor& tensor, Device device, Isa isa, bool int8_mode);

}  // namespace cupel::kernels
