// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/layout.h"

namespace cupel::format {

struct SumParams : Params {
  Choice base;
  Choice factors;
  int rank = 16;
  int64_t full_rows = 0;  ///< how many
  SumParams();
  void visit(ParamVisitor& v) override;
};

/// W = Q + L R, and whole rows in float16 instead of both: a quantized matrix with a low-rank part
/// and outlier rows. Source: LQER, LoftQ; rows after the weight-outlier seed.
///
/// Arrays and planes: those of the base as "base.NAME"; of L [o, rank] as "left.NAME" and of R
/// [rank, i] as "right.NAME" (rank > 0); rows i32 [1, n], ascending, and row_values f16 [n, i] (n =
/// full_rows > 0). A value is base + ((l_0 r_0 + l_1 r_1) + ...), float32, in this order.
class SumLayout : public Layout {
 public:
  explicit SumLayout(const SumParams& params);
  std::string name() const override { return "sum"; }
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

  const std::shared_ptr<const Layout>& base() const { return base_; }
  const std::shared_ptr<const Layout>& factors() const { return factors_; }
  const SumParams& settings() const { return params_; }
  /// No more than the matrix has.
  int64_t rank(int64_t rows, int64_t cols) const;
  int64_t full_rows(int64_t rows) const;

 private:
  SumParams params_;
  std::shared_ptr<const Layout> base_, factors_;
};

}  // namespace cupel::format
