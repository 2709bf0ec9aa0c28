// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/integer_rows.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "format/layouts/integer_mx.h"
#include "format/layouts/mx.h"
#include "format/minifloat.h"

namespace cupel::format {

namespace {

constexpr int kLargestShift = 3;  // 12 * 2^3 = 96

}  // namespace

std::optional<IntegerRow> integer_row(const WeightCode& code, int64_t row) {
  CUPEL_ASSERT(row >= 0 && row < code.rows);
  const auto* grid = dynamic_cast<const GridLayout*>(code.layout.get());
  const auto* mx = dynamic_cast<const MxLayout*>(code.layout.get());
  const bool multiplied = dynamic_cast<const IntegerMxLayout*>(code.layout.get()) != nullptr;
  const bool mxfp4 = mx && dynamic_cast<const MxParams&>(mx->params()).element == MiniFloat::e2m1;
  if (!grid || (!multiplied && !mxfp4)) return std::nullopt;
  const int64_t width = grid->block_cols(code.cols), groups = grid->col_blocks(code.cols);
  const auto codes = code.arrays.at("codes").as<uint8_t>().subspan(
      static_cast<std::size_t>(row * code.cols), static_cast<std::size_t>(code.cols));
  const auto scales = code.arrays.at("scales").as<uint8_t>().subspan(
      static_cast<std::size_t>(row * groups), static_cast<std::size_t>(groups));
  IntegerRow out;
  int lowest = 0;
  if (multiplied) {
    out.scale = code.arrays.at("outer").as<float>()[static_cast<std::size_t>(row)];
  } else {
    const auto [low, high] = std::ranges::minmax(scales);
    if (high - low > kLargestShift) return std::nullopt;
    lowest = low;
    out.scale = 0.5f * from_e8m0(low);  // of the doubled numbers
  }
  const std::vector<float> levels = minifloat_values(MiniFloat::e2m1);
  for (int64_t i = 0; i < code.cols; ++i) {
    const int doubled = static_cast<int>(2 * levels[codes[static_cast<std::size_t>(i)]]);
    const int scale = scales[static_cast<std::size_t>(i / width)];
    out.values.push_back(
        static_cast<int8_t>(doubled * (multiplied ? scale : 1 << (scale - lowest))));
  }
  return out;
}

}  // namespace cupel::format
