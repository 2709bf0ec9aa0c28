// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands/toolkit.h"
#include "core/cross_layer.h"
#include "core/model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

namespace cupel::cli {

namespace {

using Json = nlohmann::json;

/// The decoder's matrices: those that gradients are collected of.
core::Changes changes_of(core::Model& original, const std::string& path) {
  core::Model changed(format::Checkpoint::open(path), original.options());
  CUPEL_CHECK(format::weight_ids(changed.config()) == format::weight_ids(original.config()), user,
              "'", path, "' does not have the same weights as the original");
  core::Changes out;
  for (int layer = 0; layer < original.layers(); ++layer) {
    for (const auto& id : format::layer_weight_ids(original.config(), layer)) {
      if (!format::is_matrix(id.role)) continue;
      const at::Tensor change_oi = changed.weight(id) - original.weight(id);
      if (change_oi.abs().max().item<float>() > 0)
        out[canonical_name(original.config().architecture(), id)] = change_oi;
    }
    changed.evict(layer);
  }
  return out;
}

Json to_json(const core::Damage& d) {
  Json pairs = Json::array();
  const double* k = d.pairs_lm.const_data_ptr<double>();
  for (std::size_t l = 0; l < d.names.size(); ++l, k += d.names.size())
    pairs.push_back(std::vector<double>(k, k + d.names.size()));
  return {{"alone", d.alone()},
          {"together", d.together()},
          {"matrices", d.names},
          {"pairs", std::move(pairs)}};
}

Json to_json(const std::vector<core::Sensitivity>& list) {
  Json out = Json::array();
  for (const core::Sensitivity& s : list)
    out.push_back({{"name", s.name}, {"weights", s.weights}, {"own", s.own}, {"shared", s.shared}});
  return out;
}

void print_table(const Json& result) {
  std::string text = cat("type", std::string(16, ' '), "weights      sensitivity  shared\n");
  for (const Json& t : result.at("by_type")) {
    char line[96];
    std::snprintf(line, sizeof line, "%-16s %10lld  %15.4e  %6.3f\n",
                  t.at("name").get<std::string>().c_str(), t.at("weights").get<long long>(),
                  t.at("own").get<double>(), t.at("shared").get<double>());
    text += line;
  }
  for (const Json& c : result.at("changes")) {
    text += cat(c.at("model").get<std::string>(), "\n");
    for (const char* how : {"predicted", "sampled"})
      if (c.contains(how))
        text += cat("  ", how, " damage: each alone ", c.at(how).at("alone").get<double>(),
                    ", together ", c.at(how).at("together").get<double>(), " nats a token\n");
  }
  print_out(text);
}

}  // namespace

int sensitivity_command(const CommonOptions& common, const SensitivityCommand& command) {
  set_up_torch(common);
  const at::NoGradGuard no_grad;
  std::shared_ptr<const format::Checkpoint> checkpoint = format::Checkpoint::open(command.model);
  core::ModelOptions options;
  options.device = core::device_from_name(common.device);
  core::Model model(checkpoint, options);
  const auto tokenizer = text::Tokenizer::from_json(checkpoint->tokenizer_json());
  const auto samples = text::token_blocks(*tokenizer, read_text(command.text), command.samples,
                                          command.length, command.text);
  const Rng labels(static_cast<uint64_t>(command.seed), "labels");
  const core::Gradients gradients =
      core::collect_gradients(model, samples, {.sketch = static_cast<int>(command.sketch)}, labels);
  std::vector<core::SketchedMatrix> matrices;
  for (const auto& [name, stats] : gradients) matrices.push_back({name, &stats});
  const auto list = core::sensitivities(matrices);
  Json result = {{"tokens", command.samples * command.length},
                 {"by_type", to_json(core::by_type(list))},
                 {"matrices", to_json(list)},
                 {"changes", Json::array()}};
  for (const std::string& path : command.changed) {
    const core::Changes changes = changes_of(model, path);
    Json& entry = result["changes"].emplace_back(Json{{"model", path}});
    entry["predicted"] = to_json(core::predicted_damage(gradients, changes));
    if (command.sampled)
      entry["sampled"] = to_json(core::sampled_damage(model, samples, changes, labels));
  }
  if (common.json)
    print_out(result.dump() + "\n");
  else
    print_table(result);
  return 0;
}

}  // namespace cupel::cli
