// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pruner.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::core {
namespace {

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_quote(text));
  return list_text(quoted);
}

}  // namespace

std::string PrunePlan::to_json() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : replace) names.push_back(name);
  return cat("{\"remove_layers\": ", list_text(remove_layers),
             ", \"replace\": ", quoted_list(names), ", \"score\": ", json_quote(score_name),
             ", \"scores\": ", list_text(scores), ", \"notes\": ", quoted_list(notes), "}");
}

void apply(const PrunePlan& plan, Model& model) {
  std::vector<int> gone = plan.remove_layers;
  std::sort(gone.begin(), gone.end());
  const bool valid = gone.empty() || (gone.front() >= 0 && gone.back() < model.layers() &&
                                      std::adjacent_find(gone.begin(), gone.end()) == gone.end());
  CUPEL_CHECK(valid, data, "the plan removes layers ", list_text(gone),
              ", but the model has layers 0 to ", model.layers() - 1, ", each removable once");
  for (const auto& [name, value] : plan.replace) {
    const auto id = format::id_of_canonical(model.config().architecture(), name);
    CUPEL_CHECK(id.has_value(), data, "the plan replaces '", name,
                "', which this model does not have");
    model.set_weight(*id, value);
  }
  model.remove_layers(gone);
}

}  // namespace cupel::core
