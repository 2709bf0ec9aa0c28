// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/integer_mx.h"

#include "base/error.h"
#include "format/minifloat.h"

namespace cupel::format {

namespace {

std::vector<float> doubled(std::vector<float> values) {
  for (float& v : values) v *= 2;
  return values;
}

}  // namespace

void IntegerMxParams::visit(ParamVisitor& v) {
  v.field("group", group, "inputs that share a multiplier").in(16, 64);
}

IntegerMxLayout::IntegerMxLayout(const IntegerMxParams& params)
    : GridLayout(GridSpec{.bits = 4,
                          .levels = doubled(minifloat_values(MiniFloat::e2m1)),
                          .scale = ScaleType::multiplier,
                          .outer = OuterScale::row,
                          .block_cols = params.group}),
      params_(params) {}

std::string IntegerMxLayout::description() const {
  return params_.group == 16 ? "integer MX" : cat("integer MX g", params_.group);
}

}  // namespace cupel::format
