// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cupel::eval {

/// One step of an answer filter, as a task file names it. Functions:
///   regex              the match that `group_select` picks (0 the first, -1 the last); of several
///                      groups the first that is not empty; without spaces around; else `fallback`
///   remove_whitespace  without spaces around; `strip` is the same
///   lowercase
///   take_first         of several replies the first
///   majority_vote      of several replies the most frequent; the earlier one on a tie
struct FilterStep {
  std::string function;
  std::string regex_pattern = "#### (\\-?[0-9\\.\\,]+)";
  int group_select = 0;
  std::string fallback = "[invalid]";
};

/// Steps in order; the name is part of the metric's name.
struct FilterPipeline {
  std::string name = "none";
  std::vector<FilterStep> steps = {{"take_first"}};
};

/// A pipeline that is ready to run. Semantics of lm-eval 0.4.13. Immutable, thread-safe.
class AnswerFilter {
 public:
  /// Fault::user for an unknown function, a bad pattern or a group_select other than 0 and -1.
  explicit AnswerFilter(const FilterPipeline& pipeline);
  const std::string& name() const { return name_; }
  /// The replies of one document (valid UTF-8) after all steps; at least one goes in and comes out.
  std::vector<std::string> apply(std::vector<std::string> replies) const;

 private:
  using Step = std::function<void(std::vector<std::string>& replies)>;
  std::string name_;
  std::vector<Step> steps_;
};

}  // namespace cupel::eval
