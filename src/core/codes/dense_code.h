// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/dense.h"

namespace cupel::core {

/// Rounding to a narrower float: the trivial code, no scales. Values beyond float16 become its
/// largest number.
class DenseCode : public Code {
 public:
  explicit DenseCode(std::shared_ptr<const format::DenseLayout> layout)
      : layout_(std::move(layout)) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::DenseLayout> layout_;
};

}  // namespace cupel::core
