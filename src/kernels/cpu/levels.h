// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "kernels/cpu.h"

namespace cupel::kernels {

/// The filled tables. Those of an instruction set that the processor lacks may be named but not
/// called.
extern const CpuKernels kScalarKernels;
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;

namespace scalar {
void quantize(const float* x, int64_t ldx, const QuantizedInput& out);
void coded(const CodedMatrix& w, const QuantizedInput& x, float* y, int64_t ldy,
           int64_t stripe_begin, int64_t stripe_end);
void dense(const DenseMatrix& w, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy,
           int64_t row_begin, int64_t row_end);
void attention(const AttentionQuery& query, const KvView& kv, float* out, int64_t head_begin,
               int64_t head_end);
/// The interleaved form of rope; vectors would gain nothing.
void rope_interleaved(float* x, int64_t heads, int64_t stride, const Rotation& rotation);
}  // namespace scalar

}  // namespace cupel::kernels
