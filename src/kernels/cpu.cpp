// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/cpu.h"

#include "base/error.h"
#include "kernels/cpu/levels.h"

namespace cupel::kernels {

const CpuKernels& cpu_kernels(Isa isa) {
  CUPEL_CHECK(isa <= best_isa(), environment, "CPU kernels for ", isa_name(isa),
              ": this processor offers no more than ", isa_name(best_isa()));
#if defined(__x86_64__)
  if (isa == Isa::avx512) return kAvx512Kernels;
  if (isa == Isa::avx2) return kAvx2Kernels;
#endif
  return kScalarKernels;
}

}  // namespace cupel::kernels
