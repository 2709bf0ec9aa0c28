// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace cupel::eval {

namespace {

int64_t used_rows(double limit, std::size_t there) {
  const auto n = static_cast<double>(there);
  CUPEL_CHECK(limit >= 0, user, "--limit must not be negative, not ", limit);
  if (limit == 0) return static_cast<int64_t>(there);
  return static_cast<int64_t>(std::min(n, limit < 1 ? std::ceil(n * limit) : std::floor(limit)));
}

std::string group_of(const Row& row, const std::string& column, const std::string& file) {
  const text::jinja::Value* v = field(row, column);
  CUPEL_CHECK(v, data, "'", file, "' has a row without the column '", column, "' (group_by)");
  return text::jinja::to_text(*v);
}

}  // namespace

std::vector<RowGroup> load_rows(const ChosenTask& chosen, const TaskOptions& options) {
  const Task& task = chosen.task;
  const std::string file = find_data(options.data, task.test_data);
  std::vector<RowGroup> groups;
  std::map<std::string, std::size_t> index;
  for (Row& row : read_documents(file)) {
    const std::string name = task.group_by.empty() ? "" : group_of(row, task.group_by, file);
    if (!chosen.group.empty() && name != chosen.group) continue;
    if (index.emplace(name, groups.size()).second) groups.push_back({name, {}, {}, 0});
    groups[index[name]].rows.push_back(std::move(row));
  }
  CUPEL_CHECK(!groups.empty(), user,
              chosen.group.empty() ? cat("'", file, "' has no rows")
                                   : cat("'", file, "' has no rows where ", task.group_by, " is '",
                                         chosen.group, "'"));
  if (!task.fewshot_data.empty() && options.prompt.num_fewshot.value_or(task.num_fewshot) > 0) {
    const std::string shots = find_data(options.data, task.fewshot_data);
    for (Row& row : read_documents(shots)) {
      const std::string name = task.group_by.empty() ? "" : group_of(row, task.group_by, shots);
      if (const auto at = index.find(name); at != index.end())
        groups[at->second].pool.push_back(std::move(row));
    }
  }
  for (RowGroup& g : groups) g.used = used_rows(options.limit, g.rows.size());
  return groups;
}

}  // namespace cupel::eval
