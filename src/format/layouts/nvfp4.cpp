// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/nvfp4.h"

#include "base/error.h"
#include "format/minifloat.h"

namespace cupel::format {

void Nvfp4Params::visit(ParamVisitor& v) {
  v.field("group", group, "inputs that share a scale").in(16, 64);
}

Nvfp4Layout::Nvfp4Layout(const Nvfp4Params& params)
    : GridLayout(GridSpec{.bits = 4,
                          .levels = minifloat_values(MiniFloat::e2m1),
                          .scale = ScaleType::e4m3,
                          .outer = OuterScale::tensor,
                          .block_cols = params.group}),
      params_(params) {}

std::string Nvfp4Layout::description() const {
  return params_.group == 16 ? "NVFP4" : cat("NVFP4 g", params_.group);
}

}  // namespace cupel::format
