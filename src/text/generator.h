// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::text {

/// The sampler chain, in this order: logit bias, penalties, top-k, top-p, min-p, temperature, draw.
/// Temperature 0 is argmax (lowest id on ties) and ignores the rest of the chain after the
/// penalties.
struct SamplingOptions {
  double temperature = 0.8;
  int top_k = 40;             ///< 0 is off
  double top_p = 0.95;        ///< 1 is off
  double min_p = 0.05;        ///< 0 is off
  double repeat_penalty = 1;  ///< 1 is off
  int repeat_window = 64;
  uint64_t seed = 0;  ///< the draw at position p depends on (seed, p) alone
  std::map<Token, float> bias;
};

struct GenerateOptions {
  int64_t max_tokens = -1;  ///< -1 is the rest of the context
  SamplingOptions sampling;
  std::vector<std::string> stop;  ///< generation ends before the first of these texts
  bool ignore_end = false;        ///< go on after an end token (for benchmarks)
};

enum class FinishReason { stop, length, cancelled };

struct Generation {
  std::vector<Token> tokens;  ///< without the end token
  std::string text;
  FinishReason finish = FinishReason::length;
  int64_t prompt_tokens = 0;
  int64_t guessed = 0, guessed_right = 0;  ///< tokens that a draft proposed
  double prompt_seconds = 0, decode_seconds = 0;
};

/// A model as something that writes text. `on_text` gets pieces that are certain (whole characters,
/// no part of a stop text); returning false cancels.
class Generator {
 public:
  virtual ~Generator() = default;
  /// Fault::user if the prompt does not fit the context.
  virtual Generation generate(std::span<const Token> prompt, const GenerateOptions& options,
                              const std::function<bool(std::string_view)>& on_text) = 0;

  struct Order {
    std::span<const Token> prompt;
    const GenerateOptions* options = nullptr;
  };
  /// The same for many prompts, each alone, in whatever order is fast; the sink is told which one
  /// was answered. This one goes through them in turn.
  virtual void generate_many(std::span<const Order> orders,
                             const std::function<void(std::size_t, Generation)>& sink) {
    for (std::size_t i = 0; i < orders.size(); ++i)
      sink(i,
           generate(orders[i].prompt, *orders[i].options, [](std::string_view) { return true; }));
  }
};

}  // namespace cupel::text
