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
    m.perplexity = {"heldout.txt", eval::Protocol::gptq, 1024, 2, 2046, 20.9625, 1.25, 0, 0,
                    {3.0, 3.1}};
    if (diverges) {
      eval::DivergenceResult d;
      d.against = "original";
      d.tokens = 1000;
      d.kl_mean = 0.0713;
      d.same_top1 = 0.851;
      for (int i = 0; i < 1000; ++i) d.kl.push_back(0.05 * std::exp(std::sin(i)));
      m.divergence = d;
    }
    r.texts.push_back(m);
  }
  return r;
}

}  // namespace cupel::test
