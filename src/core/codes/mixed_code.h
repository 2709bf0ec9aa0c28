// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/mixed.h"

namespace cupel::core {

/// Which part of a mixed layout each tile has: [tile rows, tile cols], row-major.
using TileMap = std::vector<uint8_t>;

/// Tiles of several layouts. Unless a map is given, the tiles whose error falls most go to the
/// later parts, as many as their shares say. The error of a tile under a part is that of plain
/// rounding, weighted by the metric (its tile weights where there are some).
class MixedCode : public Code {
 public:
  MixedCode(std::shared_ptr<const format::MixedLayout> layout, ScaleRule rule, TileMap map = {});
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;
  /// Error of each tile, float64 [parts, tiles].
  at::Tensor tile_errors(const at::Tensor& w_oi, const Metric& metric) const;

 private:
  TileMap choose(const at::Tensor& w_oi, const Metric& metric) const;
  std::shared_ptr<const format::MixedLayout> layout_;
  ScaleRule rule_;
  TileMap map_;
  std::vector<std::shared_ptr<const Code>> codes_;
};

}  // namespace cupel::core
