// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>

#include "eval/harness/likelihood.h"
#include "text/generator.h"

namespace cupel::eval {

/// Answers that were kept: one file a model, `FOLDER/<key of the model>.jsonl`, a record a line,
/// appended as answers come. A run that was killed, or one with more tasks, asks only for the rest.
/// `model` must name everything that answers depend on (file, time of change, engine, arithmetic).
class AnswerCache {
 public:
  /// Reads what is there; a last line that was cut off is dropped. Fault::environment when the
  /// folder can't be written.
  AnswerCache(const std::string& folder, const std::string& model);
  ~AnswerCache();

  /// Null when it is not there.
  const Likelihood* find(const Request& request) const;
  void keep(const Request& request, const Likelihood& answer);
  const text::Generation* find(std::span<const text::Token> prompt,
                               const text::GenerateOptions& options) const;
  void keep(std::span<const text::Token> prompt, const text::GenerateOptions& options,
            const text::Generation& answer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same model, asking the cache first. All must outlive what is returned.
std::unique_ptr<LikelihoodModel> cached(LikelihoodModel& model, AnswerCache& cache);
std::unique_ptr<text::Generator> cached(text::Generator& generator, AnswerCache& cache);

}  // namespace cupel::eval
