// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/run/check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bits.h"
#include "cli/catalog.h"
#include "core/activations.h"
#include "eval/table.h"
#include "format/layouts/dense.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// What one step does to the model's size, and a guess at its time.
struct PlannedStep {
  std::string key, what;
  double seconds = 0;
};

struct Plan {
  format::ModelConfig config;
  std::vector<PlannedStep> steps;
  std::vector<std::string> problems;
  double artifact_bytes = 0, peak_bytes = 0, seconds = 0;
};

/// Parameters of a layer that a token visits, on average.
double layer_parameters(const format::ModelConfig& c) {
  double n = 0;
  for (const auto& id : format::weight_ids(c)) {
    if (id.layer < 0) continue;
    double elements = 1;
    for (const int64_t d : c.shape_of(id.role)) elements *= static_cast<double>(d);
    const double visited = id.expert < 0 ? 1
                                         : static_cast<double>(c.experts.active) /
                                               static_cast<double>(c.experts.count);
    n += elements * visited;
  }
  return n / static_cast<double>(c.layers);
}

/// Two cores do about 100 GFLOP/s in float32; one forward pass costs 2 operations a weight and
/// token.
constexpr double kOperationsPerSecond = 1e11;

/// Bytes for each weight of a matrix while it is quantized (its error is measured in float64) or
/// exported as it is (float32, its code and planes), and for each entry of a second moment
/// (float64, its factorisation, the feedback in float32).
constexpr double kQuantWork = 32, kDenseWork = 8, kMomentWork = 20;

class Planner {
 public:
  explicit Planner(const Recipe& recipe) : recipe_(recipe) {
    if (recipe.model.scratch())
      plan_.config = scratch_config(recipe.model.from.as<ScratchParams>());
    else
      plan_.config = format::Checkpoint::open(expand_path(recipe.model.path))->config();
  }

  Plan run() {
    for (const RecipeEntry& entry : recipe_.steps) step(entry);
    account();
    return std::move(plan_);
  }

 private:
  double calibration_tokens() const {
    const auto& c = recipe_.data.calibration;
    return static_cast<double>((c.samples > 0 ? c.samples : 16) * c.length);
  }

  void step(const RecipeEntry& entry) {
    const std::string kind = entry.key.substr(0, entry.key.find('.')),
                      method = entry.key.substr(kind.size() + 1);
    const double layers = static_cast<double>(plan_.config.layers),
                 per_layer = layer_parameters(plan_.config);
    const double forward = 2 * per_layer * layers * calibration_tokens() / kOperationsPerSecond;
    if (kind == "quant") {
      const auto params = std::dynamic_pointer_cast<const core::QuantizerParams>(entry.params);
      std::shared_ptr<const core::Quantizer> quantizer =
          catalog().quant.at(method).make(entry.params);
      quants_.push_back({entry.key, quantizer, params});
      const std::string inputs = core::activation_text(params->activations);
      add(entry.key,
          cat(params->layers, " as ", quantizer->description(), inputs.empty() ? "" : ", inputs ",
              inputs),
          quantizer->needs().any() ? 3 * forward : per_layer * layers / 5e7);
    } else if (kind == "prune") {
      const int64_t gone =
          catalog().prune.at(method).make(entry.params)->layers_removed(plan_.config);
      if (gone >= plan_.config.layers)
        plan_.problems.push_back(
            cat(entry.key, " would remove ", gone, " of ", plan_.config.layers, " layers"));
      if (!quants_.empty())
        plan_.problems.push_back(cat(entry.key, " must come before the quant steps"));
      add(entry.key, cat("removes ", gone, " of ", plan_.config.layers, " layers"), 2 * forward);
      plan_.config.layers -= gone;
    } else {
      const auto& registry = kind == "train" ? catalog().train : catalog().distill;
      const int64_t steps = registry.at(method).make(entry.params)->steps();
      add(entry.key, cat(steps, " steps"),
          static_cast<double>(steps) * 6 * per_layer * layers * 2048 / kOperationsPerSecond);
    }
  }

  void add(const std::string& key, std::string what, double seconds) {
    plan_.steps.push_back({key, std::move(what), seconds});
    plan_.seconds += seconds;
  }

  /// Bytes of the artifact to come, matrix by matrix, and the memory at the widest point.
  void account() {
    const int dense_bits = recipe_.model.dtype == "float32" ? 32 : 16;
    double parameters = 0, work = 0;
    std::map<int, double> layers;  // bytes in float32
    for (const auto& id : format::weight_ids(plan_.config)) {
      const auto shape = plan_.config.shape_of(id.role);
      const int64_t cols = shape.back(), rows = shape.size() > 1 ? shape.front() : 1;
      const std::string name = canonical_name(plan_.config.architecture(), id);
      const core::QuantStep* step = core::step_for(quants_, plan_.config, name);
      parameters += static_cast<double>(rows * cols);
      if (id.layer >= 0) layers[id.layer] += 4 * static_cast<double>(rows * cols);
      work = std::max(work, step ? bytes_to_quantize(*step, rows, cols)
                                 : kDenseWork * static_cast<double>(rows * cols));
      if (step)
        plan_.artifact_bytes += static_cast<double>(step->quantizer->expected_bits(rows, cols)) / 8;
      else
        plan_.artifact_bytes +=
            static_cast<double>(rows * cols) * (format::is_matrix(id.role) ? dense_bits : 32) / 8;
    }
    const double hidden = calibration_tokens() * static_cast<double>(plan_.config.hidden) * 4;
    double block = 0;
    for (const auto& [layer, bytes] : layers) block = std::max(block, bytes);
    plan_.peak_bytes = std::max(block + work, 4 * parameters * whole_models()) + hidden + 300e6;
  }

  static double bytes_to_quantize(const core::QuantStep& step, int64_t rows, int64_t cols) {
    const double n = static_cast<double>(cols), elements = static_cast<double>(rows) * n;
    return kQuantWork * elements +
           (step.quantizer->needs().second_moment ? kMomentWork * n * n : 0);
  }

  /// Float models that are in memory as a whole at some time: quant steps walk block by block, all
  /// else does not, and evaluation runs the original and, without an artifact, the result.
  double whole_models() const {
    const bool all_quant = std::ranges::all_of(
        recipe_.steps, [](const RecipeEntry& e) { return e.key.starts_with("quant."); });
    const bool artifact = std::ranges::any_of(
        recipe_.exports, [](const RecipeEntry& e) { return e.key == "artifact"; });
    if (!all_quant) return 2;
    if (recipe_.evaluate.perplexity.empty() && recipe_.evaluate.tasks.empty()) return 0;
    return artifact ? 1 : 2;
  }

  const Recipe& recipe_;
  std::vector<core::QuantStep> quants_;
  Plan plan_;
};

void print(const Plan& plan) {
  eval::Table table{{"step", "what", "about"}, {}};
  for (const PlannedStep& s : plan.steps)
    table.rows.push_back({s.key, s.what, cat(fixed(s.seconds, 0), " s")});
  std::string text = table.text();
  text += cat("artifact about ", human_bytes(plan.artifact_bytes), ", peak memory about ",
              human_bytes(plan.peak_bytes), ", time about ", fixed(plan.seconds, 0),
              " s on two cores (evaluation not counted)\n");
  for (const std::string& p : plan.problems) text += cat("problem: ", p, "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const Plan& plan) {
  ordered_json steps = ordered_json::array();
  for (const PlannedStep& s : plan.steps)
    steps.push_back({{"key", s.key}, {"what", s.what}, {"seconds", s.seconds}});
  const ordered_json out = {{"steps", steps},
                            {"artifact_bytes", plan.artifact_bytes},
                            {"peak_bytes", plan.peak_bytes},
                            {"seconds", plan.seconds},
                            {"problems", plan.problems}};
  std::puts(out.dump(2).c_str());
}

}  // namespace

int check_recipe(const RunOptions& options, bool json) {
  const Recipe recipe = load_recipe(options);
  std::string folder = fs::path(options.recipe).parent_path().string();
  check_files(recipe, folder.empty() ? "." : folder);
  const Plan plan = Planner(recipe).run();
  json ? print_json(plan) : print(plan);
  CUPEL_CHECK(plan.problems.empty(), user, "the recipe can't run: ", plan.problems.front());
  return 0;
}

}  // namespace cupel::cli
