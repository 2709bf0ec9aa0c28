// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/isa.h"

#include "base/error.h"

namespace cupel::kernels {

Isa best_isa() {
#if defined(__x86_64__)
  static const Isa best = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("f16c");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vnni");
    if (!avx2) return Isa::scalar;
    return avx512 ? Isa::avx512 : Isa::avx2;
  }();
  return best;
#else
  return Isa::scalar;
#endif
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

Isa isa_from_name(std::string_view name) {
  if (name == "auto") return best_isa();
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (name != isa_name(isa)) continue;
    CUPEL_CHECK(isa <= best_isa(), environment, "instruction set ", name,
                ": this processor offers no more than ", isa_name(best_isa()));
    return isa;
  }
  fail(Fault::user, "instruction set \"", name, "\": expected auto, scalar, avx2 or avx512");
}

}  // namespace cupel::kernels
