// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"
#include "format/minifloat.h"

namespace cupel::format {

/// FP8 with float32 scales of the whole matrix, of each row, or of 128 x 128 blocks.
/// Source: "FP8 Formats for Deep Learning"; blocks as DeepSeek-V3 has them.
struct Fp8Params : Params {
  MiniFloat element = MiniFloat::e4m3;
  enum class Scope { tensor, row, block } scope = Scope::row;
  void visit(ParamVisitor& v) override;
};

class Fp8Layout : public GridLayout {
 public:
  explicit Fp8Layout(const Fp8Params& params);
  std::string name() const override { return "fp8"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  Fp8Params params_;
};

}  // namespace cupel::format
