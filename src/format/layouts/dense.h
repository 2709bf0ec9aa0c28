// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/layout.h"

namespace cupel::format {

/// Plain numbers. Array and plane: values [o, i] (a vector is [1, i]) of the given type, row major.
struct DenseParams : Params {
  ElementType type = ElementType::f32;  ///< f32, f16 or bf16
  void visit(ParamVisitor& v) override;
};

class DenseLayout : public Layout {
 public:
  explicit DenseLayout(const DenseParams& params) : params_(params) {}
  std::string name() const override { return "dense"; }
  const Params& params() const override { return params_; }
  std::string description() const override;
  void decode(const WeightCode& code, std::span<float> out) const override;
  Planes pack(const WeightCode& code) const override;
  void unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row, int64_t count,
              std::span<float> out) const override;
  std::map<std::string, Array> unpack_arrays(const PlaneViews& planes, int64_t rows,
                                             int64_t cols) const override;
  std::vector<PlaneSpec> plane_specs(int64_t rows, int64_t cols) const override;
  std::map<std::string, Array> random_arrays(int64_t rows, int64_t cols, double deviation,
                                             Rng& rng) const override;
  ElementType type() const { return params_.type; }

 private:
  DenseParams params_;
};

/// A dense code of `values` rounded to `type`.
WeightCode dense_code(ElementType type, int64_t rows, int64_t cols, std::span<const float> values);

}  // namespace cupel::format
