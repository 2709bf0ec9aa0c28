// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The transforms that a recipe can name.
#include "core/transforms/list.h"

#include "base/error.h"

namespace cupel::core {
namespace {

template <class P>
Alternative alternative(const char* name, const char* doc) {
  return {name, doc, [] { return std::make_shared<P>(); }};
}

std::vector<Alternative> scalings() {
  return {
      alternative<NoTransformParams>("none", "the inputs as they are"),
      alternative<SmoothParams>("smooth", "SmoothQuant: sizes of inputs moved into weights"),
      alternative<AwqParams>("awq", "AWQ: scales searched for the least error of the outputs"),
      alternative<BalanceParams>("balance", "QuIP#: scales that balance inputs against weights")};
}

class None : public Transform {
 public:
  Needs needs() const override { return {}; }
  MadeTransform make(const TransformSource&) const override { return {}; }
};

}  // namespace

std::unique_ptr<const Transform> make_none(const NoTransformParams&) {
  return std::make_unique<None>();
}

const std::vector<Alternative>& scaling_alternatives() {
  static const std::vector<Alternative> list = scalings();
  return list;
}

const std::vector<Alternative>& transform_alternatives() {
  static const std::vector<Alternative> list = [] {
    auto all = scalings();
    all.insert(all.begin() + 1,
               alternative<HadamardParams>(
                   "hadamard", "random signs, then a Hadamard transform of each block of inputs"));
    return all;
  }();
  return list;
}

std::unique_ptr<const Transform> make_transform(const Choice& choice) {
  if (choice.name == "none") return make_none(choice.as<NoTransformParams>());
  if (choice.name == "hadamard") return make_hadamard(choice.as<HadamardParams>());
  if (choice.name == "smooth") return make_smooth(choice.as<SmoothParams>());
  if (choice.name == "awq") return make_awq(choice.as<AwqParams>());
  if (choice.name == "balance") return make_balance(choice.as<BalanceParams>());
  fail(Fault::internal, "the transform '", choice.name, "' is in the list of a recipe alone");
}

}  // namespace cupel::core
