// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/answer.h"

#include <algorithm>

#include "base/error.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

// Harnesses keep the texts in numpy arrays, which lose NUL characters at the end.
void cut_zeros(std::string& s) {
  s.erase(s.find_last_not_of('\0') + 1);
}

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

}  // namespace

struct ExactMatch::Impl {
  ExactMatchOptions options;
  std::vector<PythonRegex> ignored;
};

ExactMatch::ExactMatch(const ExactMatchOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  in_frame("reading regexes_to_ignore", [&] {
    for (const auto& pattern : options.regexes_to_ignore) impl_->ignored.emplace_back(pattern);
  });
}

ExactMatch::ExactMatch(ExactMatch&&) noexcept = default;
ExactMatch::~ExactMatch() = default;

std::string ExactMatch::normalised(std::string_view text) const {
  std::string s(text);
  for (const auto& regex : impl_->ignored) {
    s = regex.replace(s, "");
    cut_zeros(s);
  }
  if (impl_->options.ignore_case) s = lower_text(s);
  if (impl_->options.ignore_punctuation) std::erase_if(s, is_ascii_punctuation);
  if (impl_->options.ignore_numbers) std::erase_if(s, [](char c) { return c >= '0' && c <= '9'; });
  cut_zeros(s);
  return s;
}

double ExactMatch::score(std::string_view prediction, const std::vector<std::string>& golds) const {
  const std::string ours = normalised(prediction);
  return std::any_of(golds.begin(), golds.end(),
                     [&](const std::string& gold) { return normalised(gold) == ours; });
}

AnswerScorer::AnswerScorer(const AnswerRule& rule) : match_(rule.match) {
  for (const auto& pipeline : rule.filters) filters_.emplace_back(pipeline);
  if (filters_.empty()) filters_.emplace_back(FilterPipeline{});
}

AnswerScore AnswerScorer::score(const std::vector<std::string>& replies,
                                const std::vector<std::string>& golds) const {
  CUPEL_CHECK(!golds.empty(), data, "a document to be compared with has no gold text");
  std::vector<std::string> valid;
  for (const auto& reply : replies) valid.push_back(text::utf8_lossy(reply));
  AnswerScore out;
  for (const auto& filter : filters_) {
    const auto kept = filter.apply(valid);
    double sum = 0;
    for (const auto& answer : kept) sum += match_.score(answer, golds);
    out.metrics.emplace_back("exact_match," + filter.name(),
                             sum / static_cast<double>(kept.size()));
    out.extracted.emplace_back(filter.name(), kept.front());
  }
  return out;
}

}  // namespace cupel::eval
