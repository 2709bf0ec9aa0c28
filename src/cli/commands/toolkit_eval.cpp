// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/toolkit.h"

#include <ATen/Parallel.h>

#include "base/cat.h"
#include "base/threads.h"
#include "core/generator.h"
#include "core/scorer.h"
#include "format/artifact.h"
#include "format/checkpoint.h"

namespace cupel::cli {

namespace {

/// A Scorer that owns its model, and the Generator over it.
class OwningScorer final : public text::Scorer {
 public:
  OwningScorer(core::Model model, std::string name,
               std::shared_ptr<const text::Tokenizer> tokenizer)
      : model_(std::move(model)),
        scorer_(core::make_scorer(model_, std::move(name))),
        generator_(tokenizer ? core::make_generator(model_, std::move(tokenizer)) : nullptr) {}
  text::Generator* generator() const { return generator_.get(); }
  int64_t vocab() const override { return scorer_->vocab(); }
  int64_t max_length() const override { return scorer_->max_length(); }
  std::string description() const override { return scorer_->description(); }
  void score(std::span<const text::Token> ids, int64_t from, const text::LogitSink& sink) override {
    scorer_->score(ids, from, sink);
  }
  void score_many(std::span<const Sequence> sequences,
                  const std::function<void(std::size_t, const text::LogitRows&)>& sink) override {
    scorer_->score_many(sequences, sink);
  }

 private:
  core::Model model_;
  std::unique_ptr<text::Scorer> scorer_;
  std::unique_ptr<text::Generator> generator_;
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
  auto scorer = std::make_unique<OwningScorer>(core::Model(checkpoint, options), path, s.tokenizer);
  s.generator = scorer->generator();
  s.scorer = std::move(scorer);
  s.identity = cat(file_identity(path), s.facts.engine, " ", options.device.str());
  return s;
}

}  // namespace cupel::cli
