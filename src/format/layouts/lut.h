// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// A fixed table of levels in [-1, 1] with a scale per group. Grids: nf (quantiles of the normal
/// distribution, zero included; at 4 bits the NF4 of QLoRA), fp4 (of bitsandbytes), e2m1, int
/// (evenly spaced), sign (+-1, one bit), gaussian (the least squared error on a normal source:
/// Lloyd-Max).
/// Source: "QLoRA: Efficient Finetuning of Quantized LLMs".
struct LutParams : Params {
  enum class Grid { nf, fp4, e2m1, integer, sign, gaussian } grid = Grid::nf;
  int bits = 4;
  int group = 64;
  ScaleType scale = ScaleType::f16;
  void visit(ParamVisitor& v) override;
};

class LutLayout : public GridLayout {
 public:
  explicit LutLayout(const LutParams& params);
  std::string name() const override { return "lut"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  LutParams params_;
};

}  // namespace cupel::format
