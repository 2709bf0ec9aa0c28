// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"
#include "core/code.h"
#include "core/codes/dense_code.h"
#include "core/codes/grid_code.h"
#include "core/codes/mixed_code.h"
#include "core/codes/nested_code.h"
#include "core/codes/sinh_code.h"
#include "core/codes/sum_code.h"
#include "core/codes/table_code.h"
#include "core/codes/uniform_code.h"

namespace cupel::core {
namespace {

using LayoutPtr = std::shared_ptr<const format::Layout>;
using Make = std::unique_ptr<Code> (*)(const LayoutPtr& layout, ScaleRule rule);

/// Makes the code C if the layout is an L, and null otherwise.
template <class L, class C>
std::unique_ptr<Code> of(const LayoutPtr& layout, ScaleRule rule) {
  auto own = std::dynamic_pointer_cast<const L>(layout);
  if (!own) return nullptr;
  if constexpr (std::is_constructible_v<C, std::shared_ptr<const L>, ScaleRule>)
    return std::make_unique<C>(std::move(own), rule);
  else
    return std::make_unique<C>(std::move(own));
}

/// The list of codes: a new kind adds its line here. Kinds of grids come before grids.
constexpr Make kCodes[] = {
    of<format::UniformLayout, UniformCode>, of<format::RowTableLayout, TableCode>,
    of<format::GridLayout, GridCode>,       of<format::NestedLayout, NestedCode>,
    of<format::MixedLayout, MixedCode>,     of<format::SumLayout, SumCode>,
    of<format::DenseLayout, DenseCode>};

}  // namespace

std::unique_ptr<Code> make_code(std::shared_ptr<const format::Layout> layout, ScaleRule rule) {
  for (const Make make : kCodes)
    if (auto code = make(layout, rule)) return code;
  fail(Fault::user, "layout '", layout->name(), "' has no code that a quantizer could round to");
}

}  // namespace cupel::core
