// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/answers/filters.h"

namespace cupel::eval {

/// The scores of one generated reply.
struct AnswerScore {
  std::vector<std::pair<std::string, double>> metrics;         ///< name, score
  std::vector<std::pair<std::string, std::string>> extracted;  ///< filter, what was compared
  std::string note;  ///< what a reader of the score must know, else ""
};

/// How texts are made comparable, in this order; defaults compare as they are.
struct ExactMatchOptions {
  std::vector<std::string> regexes_to_ignore = {};  ///< each match is removed, one after the other
  bool ignore_case = false;
  bool ignore_punctuation = false;  ///< the 32 ASCII ones
  bool ignore_numbers = false;      ///< 0 to 9
};

/// lm-eval's `exact_match`. Immutable, thread-safe.
class ExactMatch {
 public:
  /// Fault::user for a bad pattern.
  explicit ExactMatch(const ExactMatchOptions& options);
  ExactMatch(ExactMatch&&) noexcept;
  ~ExactMatch();
  /// `text` is valid UTF-8.
  std::string normalised(std::string_view text) const;
  /// 1 if the prediction equals any of the golds (aliases), else 0.
  double score(std::string_view prediction, const std::vector<std::string>& golds) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How a task reads an answer off a reply: each pipeline gives one metric,
/// "exact_match,<pipeline's name>". No pipelines are the single "none": the first reply as it is.
struct AnswerRule {
  std::vector<FilterPipeline> filters = {};
  ExactMatchOptions match = {};
};

/// Scores replies against gold texts. Immutable, thread-safe.
class AnswerScorer {
 public:
  explicit AnswerScorer(const AnswerRule& rule);
  /// `replies` of one document (bytes that are not UTF-8 become U+FFFD), at least one; a pipeline
  /// that leaves several scores their mean. `golds`: at least one, else Fault::data.
  AnswerScore score(const std::vector<std::string>& replies,
                    const std::vector<std::string>& golds) const;

 private:
  std::vector<AnswerFilter> filters_;
  ExactMatch match_;
};

}  // namespace cupel::eval
