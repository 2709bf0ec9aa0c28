// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/grid_layout.h"

namespace cupel::format {

/// Levels -s, 0, s with one float16 scale per group: five weights a byte (1.6 bits), or two bits a
/// weight. Source: "The Era of 1-bit LLMs: All Large Language Models are in 1.58 Bits".
struct TernaryParams : Params {
  int group = 128;
  enum class Packing { trits, two_bit } packing = Packing::trits;
  void visit(ParamVisitor& v) override;
};

class TernaryLayout : public GridLayout {
 public:
  explicit TernaryLayout(const TernaryParams& params);
  std::string name() const override { return "ternary"; }
  const Params& params() const override { return params_; }
  std::string description() const override;

 private:
  TernaryParams params_;
};

}  // namespace cupel::format
