// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/row_table.h"

#include "base/error.h"

namespace cupel::format {

void RowTableParams::visit(ParamVisitor& v) {
  v.field("bits", bits, "of a code").in(1, 6);
}

RowTableLayout::RowTableLayout(const RowTableParams& params)
    : GridLayout(GridSpec{.bits = params.bits, .levels = {}, .scale = ScaleType::none}),
      params_(params) {}

std::string RowTableLayout::description() const {
  return cat(params_.bits, "-bit row tables");
}

}  // namespace cupel::format
