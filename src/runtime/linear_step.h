// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu.h"
#include "kernels/linear.h"
#include "runtime/buffer.h"
#include "runtime/thread_pool.h"

namespace cupel::runtime {

/// A layer and where its outputs go: y [m, rows].
struct LinearOutput {
  const kernels::Linear* linear;
  float* y;
};

/// Writes row `row` of a linear layer's input.
using Produce = std::function<void(int64_t row)>;

/// Consecutive rows of an input and the layers that read them; y of an output is that of the
/// group's first row.
struct LinearGroup {
  int64_t rows = 0;
  const kernels::RowTransform* transform = nullptr;
  std::span<const LinearOutput> outputs;
};

/// Whether a quantized form with blocks of this width can hold the integers of the model's own
/// rounding.
bool takes_as_rounded(int block, const format::InputRounding& rounding);

/// Runs linear layers that share their input: the input is transformed, and rounded if the model
/// says so, once, and quantized once for each form that the layers ask for, however many they are.
/// Inputs that the model rounds to integers, with scales that change between blocks of a form at
/// most, take that form as they are, in one pass: nothing is rounded a second time. Owns the
/// quantized rows.
class LinearStep {
 public:
  LinearStep(const kernels::CpuKernels& cpu, ThreadPool& pool, bool two_pass)
      : cpu_(cpu), pool_(pool), two_pass_(two_pass) {}

  /// `produce(row)` first writes row `row` of x [m, k], where k is the layers' width; rows are
  /// produced in parallel. x holds the transformed rows afterwards.
  void run(float* x, int64_t m, const kernels::RowTransform& transform,
           std::span<const LinearOutput> outputs, const Produce& produce);
  /// The same for groups of rows with layers of their own, all of width k, at once: x holds the
  /// groups' rows one after another. No group is empty.
  void run(float* x, std::span<const LinearGroup> groups, const Produce& produce);

 private:
  struct Quantized {
    kernels::QuantizedInput input;
    bool used = false;
    bool as_rounded = false;  ///< holds the model's own integers
    Buffer<int8_t> first, second;
    Buffer<float> scales;
    Buffer<int32_t> sums;
  };
  Quantized& quantized(int block, const format::InputRounding& rounding);
  void prepare(std::span<const LinearGroup> groups, int64_t k, int64_t m);
  void make_rows(float* x, int64_t k, std::span<const LinearGroup> groups, int64_t m,
                 const Produce& produce);
  void multiply(const float* x, int64_t k, std::span<const LinearGroup> groups);

  const kernels::CpuKernels& cpu_;
  ThreadPool& pool_;
  bool two_pass_;
  std::vector<std::unique_ptr<Quantized>> forms_;  // one per block width that was ever asked for
};

/// Rows or units that make a piece worth handing to a thread, when one takes `work`
/// multiplications.
int64_t grain_of(int64_t work);

}  // namespace cupel::runtime
