// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/sinh.h"

namespace cupel::core {

/// The grid code of a sinh layout, whose alpha and offset are first fitted to the matrix where the
/// layout says so. Source: the SHq seed.
class SinhCode : public Code {
 public:
  SinhCode(std::shared_ptr<const format::SinhLayout> layout, ScaleRule rule)
      : layout_(std::move(layout)), rule_(rule) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::SinhLayout> layout_;
  ScaleRule rule_;
};

}  // namespace cupel::core
