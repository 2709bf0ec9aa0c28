// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"
#include "core/activations.h"
#include "core/planner.h"
#include "core/transform.h"
#include "quant/methods.h"

namespace cupel::quant::testing {

inline const Registry<core::Quantizer>& methods() {
  static const Registry<core::Quantizer> registry = [] {
    Registry<core::Quantizer> r;
    register_methods(r);
    return r;
  }();
  return registry;
}

/// What a method refuses by name. Everything else must work.
struct Refusal {
  std::string_view method;
  std::string_view recipe;  ///< a recipe that holds this text
  bool unless = false;      ///< a recipe that does not hold it
};
constexpr Refusal kRefusals[] = {
    {"gptq", "metric: none"},                 // that is rtn
    {"hqq", "layout: uniform", true},         // fits integer grids
    {"sign-round", "layout: uniform", true},  // learns to round to integer grids
    {"unified", "layout: uniform", true},     // the same
    {"tile", "layout: mixed", true},          // tiles are what mixed layouts are made of
    {"tile", "metric: none"},                 // scores are made from the metric
    {"annealed", "layout: sum", true},        // splits bytes between the parts of a sum
};

/// Methods that minimise something other than the error under the second moment.
constexpr std::string_view kOtherObjectives[] = {"hqq"};

/// Methods whose form without statistics is not that of rtn: they still split bytes as they do.
constexpr std::string_view kOwnPlainForm[] = {"annealed", "tile"};

/// Methods that need a plan of the whole model first: the end-to-end tests run them.
inline bool plans(const Registry<core::Quantizer>::Entry& method) {
  return method.make(method.params())->planner(Rng(1)) != nullptr;
}

/// The layout's braces do not matter to the table.
inline bool refused(const std::string& method, std::string recipe) {
  const std::string open = "layout: {";
  if (const auto at = recipe.find(open); at != std::string::npos) recipe.erase(at + 8, 1);
  return std::ranges::any_of(kRefusals, [&](const Refusal& r) {
    return r.method == method && (recipe.find(r.recipe) != std::string::npos) != r.unless;
  });
}

inline bool has_field(const std::string& method, std::string_view field) {
  return std::ranges::any_of(params_docs(*methods().at(method).params()),
                             [&](const FieldDoc& f) { return f.name == field; });
}

/// The recipe with few steps for methods that take many: what they promise holds after each.
inline std::string quick(const std::string& method, std::string recipe) {
  if (!has_field(method, "steps")) return recipe;
  return recipe.insert(recipe.rfind('}'), recipe == "{}" ? "steps: 6" : ", steps: 6");
}

/// Fault::user with the reader's problems.
inline std::shared_ptr<Params> params_of(const std::string& method, const std::string& yaml) {
  auto params = methods().at(method).params();
  const Document document = Document::from_text(yaml, "recipe");
  std::vector<Problem> problems;
  read_params(document.root(), *params, problems);
  CUPEL_CHECK(problems.empty(), user, document.format(problems));
  return params;
}

/// What a pipeline does with a group: the method, then what the recipe says of inputs.
inline std::vector<core::MatrixResult> quantize(const core::Quantizer& method,
                                                const std::string& name, const std::string& yaml,
                                                const core::MatrixGroup& group,
                                                const core::Stats& stats) {
  auto results = method.quantize(group, stats, nullptr, Rng(5, group.id));
  const auto params = params_of(name, yaml);
  core::round_inputs(dynamic_cast<const core::QuantizerParams&>(*params).activations, results,
                     stats);
  return results;
}

inline std::unique_ptr<core::Quantizer> make(const std::string& method, const std::string& yaml) {
  return methods().at(method).make(params_of(method, yaml));
}

}  // namespace cupel::quant::testing
