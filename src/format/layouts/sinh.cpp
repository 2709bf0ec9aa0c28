// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/sinh.h"

#include "base/error.h"
#include "format/grids.h"

namespace cupel::format {

void SinhParams::visit(ParamVisitor& v) {
  v.field("bits", bits, "of a code").in(2, 8);
  v.field("group", group, "inputs that share a scale").in(16, 128);
  v.field("alpha", alpha, "companding strength; 0 is evenly spaced").in(0, 6);
  v.field("offset", offset, "shift of the grid before companding, in units of half its width")
      .in(0, 1);
  v.field("mirror", mirror, "the sign of a scale selects the grid or its mirror image");
  v.field("fit", fit, "alpha and offset are chosen for each matrix; a stored matrix has it off");
}

SinhLayout::SinhLayout(const SinhParams& params)
    : GridLayout(GridSpec{.bits = params.bits,
                          .levels = sinh_levels(params.bits, params.alpha, params.offset),
                          .scale = ScaleType::e4m3,
                          .outer = OuterScale::tensor,
                          .block_cols = params.group,
                          .mirror = params.mirror}),
      params_(params) {}

std::string SinhLayout::description() const {
  return cat("sinh", params_.bits, " g", params_.group, params_.mirror ? " mirrored" : "");
}

}  // namespace cupel::format
