// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cmath>
#include <string>

#include "eval/report.h"

namespace cupel::test {

inline eval::EvalResult example_result(const std::string& model, std::size_t texts, bool diverges) {
  eval::EvalResult r;
  r.model = model;
  r.engine = "LibTorch float32";
  r.bytes = 77'400'000;
  r.parameters = 134'515'008;
  r.bits_per_weight = 4.6;
  for (std::size_t t = 0; t < texts; ++t) {
    eval::TextMeasure m;
    m.perplexity.file = "heldout.txt";
    m.perplexity.list = {
        eval::Protocol::gptq,           1024, eval::RollingBos::once, "0123", "4567", 3000, 1,
        {{0, 0, 1023}, {0, 1024, 1023}}};
    m.perplexity.tokens = 2046;
    m.perplexity.value = 20.9625;
    m.perplexity.error = 1.25;
    m.perplexity.error_over = "blocks";
    m.perplexity.block_nll = {3.0, 3.1};
    if (diverges) {
      eval::DivergenceResult d;
      d.against = "original";
      d.tokens = 1000;
      d.kl_mean = 0.0713;
      d.same_top1 = 0.851;
      d.perplexity.emplace();
      d.by_position = {{"1", 1, 1, 2, {0.1, {}}, {1, {}}}, {"2-3", 2, 3, 4, {0.2, {}}, {0.5, {}}}};
      d.by_class = {{"digits", 0, 0, 3, {0.1, {}}, {1, {}}},
                    {"other", 0, 0, 3, {0.2, {}}, {0.5, {}}}};
      for (int i = 0; i < 1000; ++i) d.kl.push_back(0.05 * std::exp(std::sin(i)));
      m.divergence = d;
    }
    r.texts.push_back(m);
  }
  return r;
}

}  // namespace cupel::test
