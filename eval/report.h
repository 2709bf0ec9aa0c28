// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/report_comparison.h"
#include "eval/result.h"
#include "eval/table.h"

namespace cupel::eval {

/// One matrix of the compressed model, for the chart of errors and bits.
struct MatrixRow {
  std::string name;  ///< canonical name
  int layer = -1;
  std::string role;            ///< "query", "down"
  std::string method, layout;  ///< "quant.gptq", "3-bit g64 asym"
  double bits_per_weight = 0;
  double relative_error =
      0;  ///< |W - W^|^2 / |W|^2 under the input's second moment when there is one
  std::string fallback, note;
};

/// The same prompt continued by both models.
struct SamplePair {
  std::string prompt, original, compressed;
};

/// A training step's loss curve.
struct Curve {
  std::string step, metric;
  std::vector<double> x, y;
};

/// Everything that the report of a run shows. Each figure equals the one in summary.json.
struct RunReport {
  std::string title;  ///< model's name
  std::string date, version, machine;
  std::string verdict;  ///< one sentence: what was saved, what it cost
  std::optional<EvalResult> before, after;
  ReportComparison comparison;  ///< of their tasks
  std::vector<MatrixRow> matrices;
  std::vector<Curve> curves;
  std::vector<SamplePair> samples;
  std::vector<std::pair<std::string, double>> step_seconds;
  std::string recipe_yaml;  ///< resolved
  std::vector<std::string> fallbacks, warnings, notes;
  std::vector<std::pair<std::string, std::string>> files;  ///< exports: what, path
};

/// One self-contained HTML file: inline CSS and SVG, nothing loaded; reads well on a phone, in dark
/// mode and in print.
std::string run_report_html(const RunReport& report);
/// The same style for `cupel eval --report` and `cupel compare --report`.
std::string eval_report_html(const std::string& title, const std::vector<EvalResult>& results,
                             const ReportComparison& comparison = {});

}  // namespace cupel::eval
