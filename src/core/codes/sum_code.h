// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/sum.h"

namespace cupel::core {

/// What of a matrix is kept beside its quantized part.
struct SumParts {
  std::vector<int32_t> rows;  ///< kept whole, ascending
  at::Tensor left_or,
      right_ri;  ///< float32 on the host, as they are stored; undefined without rank
  at::Tensor product_oi() const;
};

/// A quantized matrix with a low-rank part and full rows. Unless the parts are given: full rows are
/// those of the largest weighted rounding error, and the low-rank part is fitted to what rounding
/// loses, in turn with the rounding (LoftQ), three times.
class SumCode : public Code {
 public:
  SumCode(std::shared_ptr<const format::SumLayout> layout, ScaleRule rule, SumParts parts = {},
          bool given = false);
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;
  /// The best rank-r approximation of residual_oi with columns weighted by the metric, factors
  /// rounded as they are stored.
  void fit_low_rank(const at::Tensor& residual_oi, const Metric& metric, SumParts& parts) const;
  /// Plain rounding of w by the base.
  at::Tensor rounded(const at::Tensor& w_oi, const Metric& metric) const;

 private:
  SumParts choose(const at::Tensor& w_oi, const Metric& metric) const;
  std::shared_ptr<const format::SumLayout> layout_;
  std::shared_ptr<const Code> base_, factor_code_;
  SumParts parts_;
  bool given_;
};

}  // namespace cupel::core
