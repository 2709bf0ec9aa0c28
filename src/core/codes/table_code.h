// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/row_table.h"

namespace cupel::core {

/// A table of levels for every row: the best for its weights under the metric (k-means in one
/// dimension, solved exactly), levels rounded to float16. Source: "SqueezeLLM: Dense-and-Sparse
/// Quantization"; the dynamic programme is that of Ckmeans.1d.dp.
class TableCode : public Code {
 public:
  explicit TableCode(std::shared_ptr<const format::RowTableLayout> layout)
      : layout_(std::move(layout)) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::RowTableLayout> layout_;
};

/// Centres of the k clusters of n numbers that have the least weighted squared distance; fewer
/// where there are fewer distinct numbers. O(k n log n).
std::vector<float> weighted_k_means(const float* values, const float* weights, int64_t n, int k);

}  // namespace cupel::core
