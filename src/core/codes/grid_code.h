// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "core/codes/levels.h"
#include "format/grid_layout.h"

namespace cupel::core {

/// The code of every layout that is a table of levels with scales: FP8, NVFP4, MX, ternary, LUTs.
/// A block of zeros decodes to zeros. Layouts whose rows have tables of their own are TableCode's.
class GridCode : public Code {
 public:
  GridCode(std::shared_ptr<const format::GridLayout> layout, ScaleRule rule);
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::GridLayout> layout_;
  std::shared_ptr<const Levels> levels_;
  ScaleRule rule_;
};

}  // namespace cupel::core
