// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cstdio>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_comparison.h"
#include "eval/stats/verdict_text.h"
#include "eval/svg.h"
#include "eval/table.h"

namespace cupel::eval {

namespace {

std::string p_text(double p) {
  if (p >= 0.0001 || p == 0) return fixed(p, 4);
  char text[16];
  std::snprintf(text, sizeof text, "%.0e", p);
  return text;
}

std::string range_text(const Interval& interval) {
  return cat(fixed(100 * interval.low, 1), " to ", fixed(100 * interval.high, 1));
}

std::string losses_chart(const ModelVerdicts& m) {
  std::vector<IntervalRow> rows;
  for (const TaskVerdict& v : m.tasks)
    rows.push_back({v.task, 100 * v.loss, 100 * v.interval.low, 100 * v.interval.high,
                    cat(v.task, ", ", v.metric, ": ", v.text)});
  ChartText text;
  text.title = cat(m.model, ": points lost against ", m.reference);
  text.x = "points lost";
  text.note = cat("Intervals at ", percent_text(m.options.confidence),
                  ", each for its task alone; the pale line is the margin.");
  return interval_chart(text, rows, {0, 100 * m.options.margin});
}

/// What the other columns do not say.
std::string verdict_cell(const TaskVerdict& v) {
  return v.verdict == Verdict::undecided
             ? cat(verdict_name(v.verdict), "; ", about_documents(v.documents_needed),
                   " documents would")
             : v.text;
}

Table verdict_table(const ModelVerdicts& m) {
  Table t{{"task", "metric", "documents", "reference", "model", "worse", "better", "points lost",
           cat("interval, ", percent_text(m.options.confidence)), "p", "p (Holm)", "verdict"},
          {}};
  for (const TaskVerdict& v : m.tasks)
    t.rows.push_back({v.task, v.metric, cat(v.documents), fixed(v.reference_score, 4),
                      fixed(v.model_score, 4), cat(v.worse), cat(v.better), fixed(100 * v.loss, 1),
                      range_text(v.interval), p_text(v.p_difference), p_text(v.p_difference_holm),
                      verdict_cell(v)});
  return t;
}

/// A negative speed is a size.
std::string speed_text(double speed) {
  return speed < 0 ? human_bytes(-speed) : fixed(speed, 1);
}

}  // namespace

std::string verdicts_section(const std::vector<ModelVerdicts>& models) {
  std::string out;
  for (const ModelVerdicts& m : models) {
    if (m.tasks.empty()) continue;
    out += cat("<p class=\"title\">", escape_html(m.model), "</p><p>",
               escape_html(verdict_summary(m.tasks, m.options)), ".</p>\n<div class=\"charts\">",
               losses_chart(m), "</div>\n", verdict_table(m).html());
  }
  return out.empty() ? ""
                     : cat("<h2>Tasks against the reference</h2>\n", out,
                           "<p class=\"meta\">p: no difference (McNemar's exact test for right and "
                           "wrong answers, else BCa bootstrap or sign test). Holm: over the tasks "
                           "of the model; verdicts follow it.</p>\n");
}

std::string redline_section(const RedlineResult& result) {
  if (result.rows.empty()) return "";
  Table t{{"candidate", "speed or size", "prompts", "failures", "risk", "bound", "p", "verdict"},
          {}};
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const RedlineRow& r = result.rows[i];
    t.rows.push_back({r.candidate.name, speed_text(r.candidate.speed), cat(r.candidate.prompts),
                      cat(r.candidate.failures), cat(fixed(100 * r.risk, 2), " %"),
                      cat(fixed(100 * r.bound, 2), " %"), p_text(r.p_value),
                      result.chosen == i ? "chosen" : std::string(admission_name(r.admission))});
  }
  return cat("<h2>Operating point within a risk budget</h2>\n<p>", escape_html(result.text),
             ".</p>\n", t.html(),
             "<p class=\"meta\">A failure is a prompt that the reference answers right and the "
             "candidate wrong. Bound: Clopper and Pearson's, at the level that the test of this "
             "candidate had (",
             risk_control_name(result.options.control), ").</p>\n");
}

}  // namespace cupel::eval
