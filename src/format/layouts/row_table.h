// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// A table of float16 levels for every row (SqueezeLLM, any-precision): the code is an index into
/// it. Source: "SqueezeLLM: Dense-and-Sparse Quantization".
struct RowTableParams : Params {
  int bits = 3;
  void visit(ParamVisitor& v) override;
};

class RowTableLayout : public GridLayout {
 public:
  explicit RowTableLayout(const RowTableParams& params);
  std::string name() const override { return "row-table"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  RowTableParams params_;
};

}  // namespace cupel::format
