// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"
#include "format/minifloat.h"

namespace cupel::format {

/// OCP microscaling: small floats, a power of two per block of inputs (MXFP4, MXFP6, MXFP8).
/// Source: "OCP Microscaling Formats (MX) Specification 1.0"; `span` after the integer-exact
/// microscaling seed: what is written stays standard.
struct MxParams : Params {
  MiniFloat element = MiniFloat::e2m1;
  int group = 32;
  int span = 0;  ///< 3 makes a row of MXFP4 exact as int8 times a power of two
  void visit(ParamVisitor& v) override;
};

class MxLayout : public GridLayout {
 public:
  explicit MxLayout(const MxParams& params);
  std::string name() const override { return "mx"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  MxParams params_;
};

}  // namespace cupel::format
