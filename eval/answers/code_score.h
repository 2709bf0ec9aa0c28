// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eval/answers/answer.h"
#include "eval/answers/sandbox.h"

namespace cupel::eval {

/// A programming task as HumanEval states it (Chen et al., "Evaluating Large Language Models
/// Trained on Code", 2021): `test` defines check(candidate).
struct CodeTask {
  std::string prompt, test, entry_point;
};

/// prompt + completion + test + check(entry_point), as lm-eval 0.4.13 puts them together.
std::string code_program(const CodeTask& task, const std::string& completion);

/// The unbiased estimate of the chance that one of k programs is right, when c of n are:
/// 1 - C(n-c, k) / C(n, k). Fault::user unless 1 <= k <= n and c <= n.
double pass_at_k(std::size_t n, std::size_t c, std::size_t k);

/// Runs every completion and scores "pass@k" for each k; `extracted` says for each program how it
/// ended ("passed", "timed out", or the last line of its output), `note` what the machine did not
/// protect from.
AnswerScore score_code(const Sandbox& sandbox, const CodeTask& task,
                       const std::vector<std::string>& completions,
                       const std::vector<std::size_t>& ks = {1});

}  // namespace cupel::eval
