// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/filters.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"

namespace cupel::eval {
namespace {

using Replies = std::vector<std::string>;
using Step = std::function<void(Replies&)>;

Step each_reply(std::function<std::string(const std::string&)> f) {
  return [f = std::move(f)](Replies& replies) {
    for (auto& reply : replies) reply = f(reply);
  };
}

// What re.findall gives for one match, less its empty groups.
std::string first_group(const PythonRegex::Match& match, std::string_view text,
                        const std::string& fallback) {
  if (match.size() <= 2) return std::string(strip(match.back().of(text)));
  for (std::size_t g = 1; g < match.size(); ++g)
    if (const auto group = match[g].of(text); !group.empty()) return std::string(strip(group));
  return std::string(strip(fallback));
}

Step regex_step(const FilterStep& step) {
  CUPEL_CHECK(step.group_select == 0 || step.group_select == -1, user,
              "filter 'regex': group_select must be 0 (first match) or -1 (last match), not ",
              step.group_select);
  const auto regex = std::make_shared<const PythonRegex>(step.regex_pattern);
  return each_reply(
      [regex, last = step.group_select == -1, fallback = step.fallback](const std::string& reply) {
        PythonRegex::Match chosen;
        regex->each(reply, [&](const PythonRegex::Match& match) {
          if (chosen.empty() || last) chosen = match;
        });
        return chosen.empty() ? fallback : first_group(chosen, reply, fallback);
      });
}

void majority(Replies& replies) {
  const auto most = std::max_element(replies.begin(), replies.end(),
                                     [&](const std::string& a, const std::string& b) {
                                       return std::count(replies.begin(), replies.end(), a) <
                                              std::count(replies.begin(), replies.end(), b);
                                     });
  replies = {*most};
}

}  // namespace

AnswerFilter::AnswerFilter(const FilterPipeline& pipeline) : name_(pipeline.name) {
  for (const auto& step : pipeline.steps) {
    const std::string& f = step.function;
    if (f == "regex")
      steps_.push_back(
          in_frame(cat("reading filter '", name_, "'"), [&] { return regex_step(step); }));
    else if (f == "remove_whitespace" || f == "strip")
      steps_.push_back(each_reply([](const std::string& s) { return std::string(strip(s)); }));
    else if (f == "lowercase")
      steps_.push_back(each_reply([](const std::string& s) { return lower_text(s); }));
    else if (f == "take_first")
      steps_.push_back([](Replies& replies) { replies.resize(1); });
    else if (f == "majority_vote")
      steps_.push_back(majority);
    else
      fail(Fault::user, "filter '", name_, "': unknown function '", f,
           "' (known: regex, remove_whitespace, strip, lowercase, take_first, majority_vote)");
  }
}

Replies AnswerFilter::apply(Replies replies) const {
  CUPEL_CHECK(!replies.empty(), internal, "filter '", name_, "': no reply");
  for (const auto& step : steps_) step(replies);
  return replies;
}

}  // namespace cupel::eval
