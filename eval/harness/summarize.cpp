// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/summarize.h"

#include <map>

#include "base/error.h"

namespace cupel::eval {

namespace {

/// Scores of one rule, group by group in order of appearance.
struct Column {
  std::vector<std::string> names;
  std::vector<std::vector<double>> scores, parts;
};

Column column(const std::vector<Sample>& samples, std::size_t rule) {
  Column out;
  std::map<std::string, std::size_t> index;
  for (const Sample& s : samples) {
    const auto [at, added] = index.emplace(s.group, out.names.size());
    if (added) {
      out.names.push_back(s.group);
      out.scores.emplace_back();
      out.parts.emplace_back();
    }
    out.scores[at->second].push_back(s.scores[rule]);
    out.parts[at->second].push_back(s.parts);
  }
  return out;
}

}  // namespace

void summarize(TaskResult& result, const std::vector<Rule>& rules) {
  CUPEL_ASSERT(!result.samples.empty());
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const Column c = column(result.samples, r);
    std::vector<MetricValue> parts;
    std::vector<int64_t> sizes;
    for (std::size_t g = 0; g < c.scores.size(); ++g) {
      parts.push_back(aggregate(rules[r].aggregation, c.scores[g], c.parts[g]));
      sizes.push_back(static_cast<int64_t>(c.scores[g].size()));
    }
    const bool single = parts.size() == 1;
    result.documents = static_cast<int64_t>(result.samples.size());
    result.metrics.push_back(
        {rules[r].name, single ? parts[0] : pool(parts, sizes), rules[r].higher_is_better});
    if (single) continue;
    if (result.groups.empty()) result.groups.resize(parts.size());
    for (std::size_t g = 0; g < parts.size(); ++g) {
      result.groups[g].task = c.names[g];
      result.groups[g].documents = sizes[g];
      result.groups[g].metrics.push_back({rules[r].name, parts[g], rules[r].higher_is_better});
    }
  }
}

}  // namespace cupel::eval
