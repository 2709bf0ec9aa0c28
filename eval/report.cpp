// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/report.h"

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_sections.h"
#include "eval/task_table.h"

namespace cupel::eval {

namespace {

std::vector<EvalResult> both(const RunReport& report) {
  std::vector<EvalResult> out;
  if (report.before) out.push_back(*report.before);
  if (report.after) out.push_back(*report.after);
  return out;
}

std::string head(const std::string& title, const std::string& verdict,
                 const std::vector<std::string>& facts) {
  std::vector<std::string> known;
  for (const std::string& f : facts)
    if (!f.empty()) known.push_back(escape_html(f));
  return cat("<header><h1>", escape_html(title), "</h1>",
             verdict.empty() ? "" : cat("<p>", escape_html(verdict), "</p>"),
             known.empty() ? "" : cat("<p class=\"meta\">", joined(known, " \xC2\xB7 "), "</p>"),
             "</header>\n");
}

}  // namespace

std::string run_report_html(const RunReport& report) {
  const auto results = both(report);
  return html_page(
      report.title,
      cat(head(report.title, report.verdict, {report.date, report.version, report.machine}),
          tiles_section(report), alerts_section(report.fallbacks, report.warnings),
          results_section(results), task_section(results),
          verdicts_section(report.comparison.verdicts), divergence_section(results),
          samples_section(report.samples), matrices_section(report.matrices),
          curves_section(report.curves), details_section(report)));
}

std::string eval_report_html(const std::string& title, const std::vector<EvalResult>& results,
                             const ReportComparison& comparison) {
  return html_page(title,
                   cat(head(title, "", {}), results_section(results), task_section(results),
                       verdicts_section(comparison.verdicts),
                       comparison.redline ? redline_section(*comparison.redline) : std::string(),
                       pareto_section(results), divergence_section(results)));
}

}  // namespace cupel::eval
