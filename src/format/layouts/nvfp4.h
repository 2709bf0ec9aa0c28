// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// E2M1 with an E4M3 scale per 16 inputs and one float32 scale of the matrix.
/// Source: "Pretraining Large Language Models with NVFP4".
struct Nvfp4Params : Params {
  int group = 16;
  void visit(ParamVisitor& v) override;
};

class Nvfp4Layout : public GridLayout {
 public:
  explicit Nvfp4Layout(const Nvfp4Params& params);
  std::string name() const override { return "nvfp4"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  Nvfp4Params params_;
};

}  // namespace cupel::format
