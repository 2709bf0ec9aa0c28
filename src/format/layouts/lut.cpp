// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/lut.h"

#include <algorithm>

#include "base/error.h"
#include "format/grids.h"
#include "format/minifloat.h"

namespace cupel::format {

namespace {

std::vector<float> lut_levels(const LutParams& params) {
  using Grid = LutParams::Grid;
  switch (params.grid) {
    case Grid::nf:
      return normal_float(params.bits);
    case Grid::fp4:
      return bnb_fp4();
    case Grid::e2m1: {
      std::vector<float> levels = minifloat_values(MiniFloat::e2m1);
      for (float& l : levels) l /= 6;
      return levels;
    }
    case Grid::integer:
      return even_levels(params.bits);
    case Grid::gaussian:
      return gaussian_levels(params.bits);
    case Grid::sign:
      break;
  }
  return {-1.0f, 1.0f};
}

}  // namespace

void LutParams::visit(ParamVisitor& v) {
  const EnumNames grids = {
      {"nf", static_cast<int>(Grid::nf)},     {"fp4", static_cast<int>(Grid::fp4)},
      {"e2m1", static_cast<int>(Grid::e2m1)}, {"int", static_cast<int>(Grid::integer)},
      {"sign", static_cast<int>(Grid::sign)}, {"gaussian", static_cast<int>(Grid::gaussian)}};
  const EnumNames scales = {{"f16", static_cast<int>(ScaleType::f16)},
                            {"f32", static_cast<int>(ScaleType::f32)},
                            {"e4m3", static_cast<int>(ScaleType::e4m3)}};
  v.field("grid", grid, grids, "levels");
  v.field("bits", bits, "of a code").in(1, 8);
  v.field("group", group, "inputs that share a scale; 0 is the whole row").in(0, 4096);
  v.field("scale", scale, scales, "how scales are stored; e4m3 adds one float32 for the matrix");
  v.check((grid != Grid::fp4 && grid != Grid::e2m1) || bits == 4, "this grid has 4 bits");
  v.check(grid != Grid::sign || bits == 1, "grid sign has one bit");
  v.check(grid == Grid::sign || bits >= 2, "this grid needs at least 2 bits");
  v.check(group == 0 || group >= 16, "group must be 0 or at least 16");
}

LutLayout::LutLayout(const LutParams& params)
    : GridLayout(
          GridSpec{.bits = params.bits,
                   .levels = lut_levels(params),
                   .scale = params.scale,
                   .outer = params.scale == ScaleType::e4m3 ? OuterScale::tensor : OuterScale::none,
                   .block_cols = params.group}),
      params_(params) {}

std::string LutLayout::description() const {
  static constexpr const char* kNames[] = {"NF",       "FP",    "E2M1 LUT ",
                                           "INT LUT ", "sign ", "Gaussian LUT "};
  return cat(kNames[static_cast<std::size_t>(params_.grid)], params_.bits, " ",
             params_.group == 0 ? "row" : cat("g", params_.group),
             params_.scale == ScaleType::f16   ? ""
             : params_.scale == ScaleType::f32 ? " f32"
                                               : " e4m3");
}

}  // namespace cupel::format
