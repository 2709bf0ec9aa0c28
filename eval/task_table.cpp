// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/task_table.h"

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_sections.h"

namespace cupel::eval {

namespace {

std::string value_text(const MetricValue& v) {
  return v.error ? cat(fixed(v.value, 4), " \xC2\xB1 ", fixed(*v.error, 4)) : fixed(v.value, 4);
}

/// The result of the same task in another model, null where it was not run.
const TaskResult* find(const std::vector<TaskResult>& tasks, const std::string& name) {
  for (const TaskResult& t : tasks)
    if (t.task == name) return &t;
  return nullptr;
}

void add_rows(Table& table, const std::vector<const std::vector<TaskResult>*>& models) {
  for (const TaskResult& first : *models[0])
    for (std::size_t m = 0; m < first.metrics.size(); ++m) {
      std::vector<std::string> row = {first.task, cat(first.shots), cat(first.documents),
                                      first.metrics[m].name};
      for (const auto* tasks : models) {
        const TaskResult* t = find(*tasks, first.task);
        row.push_back(t ? value_text(t->metrics.at(m).value) : "-");
      }
      table.rows.push_back(std::move(row));
    }
}

Table table_of(const std::vector<EvalResult>& results) {
  Table table{{"task", "shots", "rows", "metric"}, {}};
  std::vector<const std::vector<TaskResult>*> models;
  for (const std::string& label : labels_of(results))
    table.header.push_back(results.size() == 1 ? "value" : label);
  for (const EvalResult& r : results) models.push_back(&r.tasks);
  add_rows(table, models);
  return table;
}

/// The groups of one task, for those who want to look.
std::string groups_html(const std::vector<EvalResult>& results, const TaskResult& task) {
  Table table{{"group", "shots", "rows", "metric"}, {}};
  std::vector<const std::vector<TaskResult>*> models;
  for (const std::string& label : labels_of(results)) table.header.push_back(label);
  for (const EvalResult& r : results) {
    const TaskResult* t = find(r.tasks, task.task);
    if (!t) return "";
    models.push_back(&t->groups);
  }
  add_rows(table, models);
  return cat("<details><summary>", escape_html(task.task), ": ", task.groups.size(),
             " groups</summary>", table.html(), "</details>\n");
}

bool has_tasks(const std::vector<EvalResult>& results) {
  return !results.empty() && !results[0].tasks.empty();
}

}  // namespace

std::string task_table(const std::vector<EvalResult>& results) {
  return has_tasks(results) ? cat("\n", table_of(results).text()) : "";
}

std::string task_section(const std::vector<EvalResult>& results) {
  if (!has_tasks(results)) return "";
  std::string out = cat("<h2>Tasks</h2>\n", table_of(results).html());
  for (const TaskResult& t : results[0].tasks)
    if (!t.groups.empty()) out += groups_html(results, t);
  return out;
}

}  // namespace cupel::eval
