// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/mx.h"

#include "base/error.h"

namespace cupel::format {

void MxParams::visit(ParamVisitor& v) {
  EnumNames elements;
  for (const auto type :
       {MiniFloat::e2m1, MiniFloat::e2m3, MiniFloat::e3m2, MiniFloat::e4m3, MiniFloat::e5m2})
    elements.emplace_back(minifloat_name(type), static_cast<int>(type));
  v.field("element", element, elements, "what a weight is stored as");
  v.field("group", group, "inputs that share a scale").in(16, 128);
  v.field("span", span,
          "largest difference of the scales' exponents in a row, small ones are lifted; 0: any")
      .in(0, 30);
}

MxLayout::MxLayout(const MxParams& params)
    : GridLayout(GridSpec{.bits = minifloat_bits(params.element),
                          .levels = minifloat_values(params.element),
                          .scale = ScaleType::e8m0,
                          .block_cols = params.group,
                          .span = params.span}),
      params_(params) {}

std::string MxLayout::description() const {
  return cat("MXFP", minifloat_bits(params_.element), " ", minifloat_name(params_.element),
             params_.group == 32 ? "" : cat(" g", params_.group),
             params_.span == 0 ? "" : cat(" span ", params_.span));
}

}  // namespace cupel::format
