// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <type_traits>

#include "format/hadamard.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/quantize_constants.h"

#if defined(__x86_64__)
namespace cupel::kernels {
namespace {
// 2 x 3 sums of two vectors, 3 inputs and a weight fill the 16 registers.
constexpr int kDenseOutputs = 2, kDenseRows = 3;
}  // namespace
}  // namespace cupel::kernels

// The order matters: each body uses the names of those before it.
// clang-format off
#include "kernels/cpu/avx2_vector.inl"
#include "kernels/cpu/exp.inl"
#include "kernels/cpu/functions.inl"
#include "kernels/cpu/elements.inl"
#include "kernels/cpu/elementwise.inl"
#include "kernels/cpu/quantize.inl"
#include "kernels/cpu/dense.inl"
#include "kernels/cpu/kv_rows.inl"
#include "kernels/cpu/attention.inl"
#include "kernels/cpu/coded.inl"
#include "kernels/cpu/avx2_coded.inl"
// clang-format on

namespace cupel::kernels {

constinit const CpuKernels kAvx2Kernels = {
    .isa = Isa::avx2,
    .quantize = quantize,
    .coded = coded,
    .dense = dense,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .gelu_tanh_mul = gelu_tanh_mul,
    .gelu_mul = gelu_mul,
    .clamped_swiglu = clamped_swiglu,
    .cap = cap,
    .sigmoid = sigmoid,
    .softmax = softmax,
    .rope = rope,
    .transform = transform,
    .attention = attention,
    .to_f16 = to_f16,
    .pack_kv = pack_kv,
};

}  // namespace cupel::kernels
#endif
