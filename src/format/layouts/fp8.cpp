// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/fp8.h"

#include "base/error.h"

namespace cupel::format {

void Fp8Params::visit(ParamVisitor& v) {
  const EnumNames elements = {{"e4m3", static_cast<int>(MiniFloat::e4m3)},
                              {"e5m2", static_cast<int>(MiniFloat::e5m2)}};
  const EnumNames scopes = {{"tensor", static_cast<int>(Scope::tensor)},
                            {"row", static_cast<int>(Scope::row)},
                            {"block", static_cast<int>(Scope::block)}};
  v.field("element", element, elements, "more mantissa, or more range");
  v.field("scale", scope, scopes, "what shares a scale: the matrix, an output, 128 x 128 weights");
}

Fp8Layout::Fp8Layout(const Fp8Params& params)
    : GridLayout(GridSpec{.bits = 8,
                          .levels = minifloat_values(params.element),
                          .scale = ScaleType::f32,
                          .block_rows = params.scope == Fp8Params::Scope::tensor ? 0
                                        : params.scope == Fp8Params::Scope::row  ? 1
                                                                                 : 128,
                          .block_cols = params.scope == Fp8Params::Scope::block ? 128 : 0}),
      params_(params) {}

std::string Fp8Layout::description() const {
  static constexpr const char* kScopes[] = {"tensor", "row", "128x128"};
  return cat("FP8 ", minifloat_name(params_.element), " ",
             kScopes[static_cast<std::size_t>(params_.scope)]);
}

}  // namespace cupel::format
