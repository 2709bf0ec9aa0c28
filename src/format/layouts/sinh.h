// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// Levels sinh(alpha (u + c)), u evenly spaced in [-1, 1], scaled so that the largest is 1: alpha
/// goes from uniform to float-like spacing, c shifts the grid; the sign bit of a block's E4M3 scale
/// selects the mirror image. Source: the SHq seed, our reading.
struct SinhParams : Params {
  int bits = 4;
  int group = 16;
  double alpha = 1.0;
  double offset = 0.094;
  bool mirror = true;
  bool fit = false;  ///< encoders choose alpha and offset for each matrix
  void visit(ParamVisitor& v) override;
};

class SinhLayout : public GridLayout {
 public:
  explicit SinhLayout(const SinhParams& params);
  std::string name() const override { return "sinh"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  SinhParams params_;
};

}  // namespace cupel::format
