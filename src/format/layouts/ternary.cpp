// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/ternary.h"

#include <limits>

#include "base/error.h"

namespace cupel::format {

void TernaryParams::visit(ParamVisitor& v) {
  const EnumNames packings = {{"trits", static_cast<int>(Packing::trits)},
                              {"two-bit", static_cast<int>(Packing::two_bit)}};
  v.field("group", group, "inputs that share a scale; 0 is the whole row").in(0, 4096);
  v.field("packing", packing, packings, "five weights in a byte, or four");
  v.check(group == 0 || group >= 16, "group must be 0 or at least 16");
}

TernaryLayout::TernaryLayout(const TernaryParams& params)
    : GridLayout(GridSpec{.bits = 2,
                          .levels = {-1, 0, 1, std::numeric_limits<float>::quiet_NaN()},
                          .scale = ScaleType::f16,
                          .block_cols = params.group,
                          .trits = params.packing == TernaryParams::Packing::trits}),
      params_(params) {}

std::string TernaryLayout::description() const {
  return cat("ternary ", params_.group == 0 ? "row" : cat("g", params_.group),
             params_.packing == TernaryParams::Packing::trits ? "" : " two-bit");
}

}  // namespace cupel::format
