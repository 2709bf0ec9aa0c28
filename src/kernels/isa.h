// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>

namespace cupel::kernels {

/// Instruction sets of the CPU kernels, weakest first. avx512 needs F, BW, VL, DQ and VNNI; avx2
/// needs FMA and F16C.
enum class Isa { scalar, avx2, avx512 };

/// The strongest that this processor and operating system support.
Isa best_isa();
std::string_view isa_name(Isa isa);
/// "auto" is best_isa(). Fault::user for an unknown name, Fault::environment for one that the
/// processor lacks.
Isa isa_from_name(std::string_view name);

}  // namespace cupel::kernels
