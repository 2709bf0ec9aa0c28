// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"
#include "kernels/cuda/columns.h"

namespace cupel::kernels::cuda {

bool built() {
  return false;
}

void round_columns(const ScalarRule&, const ColumnBlock&, int) {
  fail(Fault::internal, "this program was built without CUDA kernels");
}

void fit_grid(const GridFit&, int) {
  fail(Fault::internal, "this program was built without CUDA kernels");
}

void fit_uniform(const UniformFit&, int) {
  fail(Fault::internal, "this program was built without CUDA kernels");
}

}  // namespace cupel::kernels::cuda
