// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/nested.h"

namespace cupel::core {

/// Codes of B bits of which every prefix is a model. Rounds for the prefix that is kept: among the
/// codes of B bits the one whose prefix decodes nearest, then the one that is nearest itself. The
/// centre of each prefix is what its missing bits were worth under the metric: least squares.
/// Source: the MatMoE seed.
class NestedCode : public Code {
 public:
  NestedCode(std::shared_ptr<const format::NestedLayout> layout, ScaleRule rule)
      : layout_(std::move(layout)), rule_(rule) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::NestedLayout> layout_;
  ScaleRule rule_;
};

}  // namespace cupel::core
