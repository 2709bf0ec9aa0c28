// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/harness/task_result.h"
#include "eval/perplexity.h"

namespace cupel::eval {

/// What `cupel eval` found: the object that --json prints.
struct EvalResult {
  std::string model;   ///< path or name
  std::string engine;  ///< "LibTorch float32", "runtime avx2, exact activations, f32 cache"
  int64_t bytes = 0, parameters = 0;  ///< 0: not known, as of a model behind a server
  double bits_per_weight = 0;         ///< file bytes x 8 / parameters, embeddings and head included
  double bits_per_weight_matrices = 0;  ///< the quantized matrices alone; 0 when there are none
  std::vector<TextMeasure> texts;
  std::vector<TaskResult> tasks;
  double prompt_tokens_per_second = 0, decode_tokens_per_second = 0;  ///< 0: not measured
};

/// Stable keys (docs/cli.md): model, bytes, bits_per_weight, perplexity: [...], divergence: {...}.
/// A figure that is not known, such as the error from a single sample, is null.
std::string to_json(const EvalResult& result, int indent = 2);
/// A table for a terminal: one row a model.
std::string text_table(const std::vector<EvalResult>& results);
std::string markdown_table(const std::vector<EvalResult>& results);

}  // namespace cupel::eval
