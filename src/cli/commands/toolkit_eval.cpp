// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/toolkit.h"

#include <ATen/Parallel.h>

#include "base/cat.h"
#include "base/threads.h"
#include "core/scorer.h"
#include "format/artifact.h"
#include "format/checkpoint.h"

namespace cupel::cli {

namespace {

/// A Scorer that owns its model.
class OwningScorer final : public text::Scorer {
 public:
  OwningScorer(core::Model model, std::string name)
      : model_(std::move(model)), scorer_(core::make_scorer(model_, std::move(name))) {}
  int64_t vocab() const override { return scorer_->vocab(); }
  int64_t max_length() const override { return scorer_->max_length(); }
  std::string description() const override { return scorer_->description(); }
  void score(std::span<const text::Token> ids, int64_t from, const text::LogitSink& sink) override {
    scorer_->score(ids, from, sink);
  }

 private:
  core::Model model_;
  std::unique_ptr<text::Scorer> scorer_;
};

}  // namespace

void set_up_torch(const CommonOptions& common) {
  at::set_num_threads(common.threads > 0 ? common.threads : usable_processors());
  if (common.deterministic) core::set_deterministic();
}

Subject open_toolkit_subject(const CommonOptions& common, const EvalCommand& command,
                             const std::string& path, const std::string& engine) {
  const bool packed = format::is_artifact(path);
  if (engine == "runtime" || (engine == "auto" && packed))
    return open_runtime_subject(common, command, path);
  std::shared_ptr<const format::Checkpoint> checkpoint = format::Checkpoint::open(path);
  core::ModelOptions options;
  options.compute = core::scalar_type(command.dtype);
  options.weights =
      command.weights_dtype == "stored" ? at::kFloat : core::scalar_type(command.weights_dtype);
  options.device = core::device_from_name(common.device);
  Subject s;
  s.facts = model_facts(path, cat("LibTorch ", command.dtype,
                                  command.weights_dtype == "stored"
                                      ? ""
                                      : cat(", weights rounded to ", command.weights_dtype)));
  // A model without one can be measured beside another that has it.
  if (const std::string json = checkpoint->tokenizer_json(); !json.empty())
    s.tokenizer = text::Tokenizer::from_json(json);
  s.scorer = std::make_unique<OwningScorer>(core::Model(checkpoint, options), path);
  return s;
}

}  // namespace cupel::cli
