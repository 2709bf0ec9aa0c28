// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// Integer-exact microscaling: w = k * m * s with k an E2M1 number doubled (0 to 12), m an integer
/// of 1 to 10 per block, s a scale per row: |k m| <= 120, so a row is an int8 vector times a
/// number. Source: the integer-exact microscaling seed (multiplier format), our reading.
struct IntegerMxParams : Params {
  int group = 16;
  void visit(ParamVisitor& v) override;
};

class IntegerMxLayout : public GridLayout {
 public:
  explicit IntegerMxLayout(const IntegerMxParams& params);
  std::string name() const override { return "integer-mx"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  IntegerMxParams params_;
};

}  // namespace cupel::format
