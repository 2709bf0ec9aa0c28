// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/code_score.h"

#include "base/error.h"
#include "eval/answers/python_text.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

std::string ending(const SandboxResult& r) {
  if (r.completed) return "passed";
  if (r.timed_out) return "timed out";
  if (r.signal != 0) return cat("killed by signal ", r.signal);
  const std::string output = text::utf8_lossy(r.output);
  const auto lines = split_at(strip(output), "\n");
  return lines.back().empty() ? cat("exit code ", r.exit_code) : std::string(lines.back());
}

}  // namespace

std::string code_program(const CodeTask& task, const std::string& completion) {
  return task.prompt + completion + "\n" + task.test + "\ncheck(" + task.entry_point + ")";
}

double pass_at_k(std::size_t n, std::size_t c, std::size_t k) {
  CUPEL_CHECK(k >= 1 && k <= n && c <= n, user, "pass@", k, " of ", n, " programs, ", c,
              " of them right: k must lie in [1, n]");
  if (n - c < k) return 1;
  double none = 1;  // C(n-c, k) / C(n, k), factor by factor
  for (std::size_t i = n - c + 1; i <= n; ++i)
    none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

AnswerScore score_code(const Sandbox& sandbox, const CodeTask& task,
                       const std::vector<std::string>& completions,
                       const std::vector<std::size_t>& ks) {
  AnswerScore out;
  std::size_t right = 0;
  for (const auto& completion : completions) {
    // A surrogate or broken byte would end the interpreter before the program starts.
    const auto r = sandbox.run_python(code_program(task, text::utf8_lossy(completion)));
    right += r.completed;
    out.extracted.emplace_back("program", ending(r));
    out.note = r.gaps;
  }
  for (const std::size_t k : ks)
    out.metrics.emplace_back(cat("pass@", k), pass_at_k(completions.size(), right, k));
  return out;
}

}  // namespace cupel::eval
