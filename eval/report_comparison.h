// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/stats/redline.h"
#include "eval/stats/verdict.h"

namespace cupel::eval {

/// One model of a Pareto chart. What is not known is left out of the charts that need it.
struct ParetoPoint {
  std::string name;
  double bytes = 0;                    ///< of the file; 0: not known
  std::optional<double> kl, kl_error;  ///< nats a token from the reference
  double tokens_per_second = 0;        ///< of generation; 0: not measured
};

/// A model's tasks against the reference, from judge_tasks with `options`.
struct ModelVerdicts {
  std::string model, reference;
  std::vector<TaskVerdict> tasks;
  VerdictOptions options;
};

/// What a report of several models shows besides each model's figures.
struct ReportComparison {
  std::vector<ModelVerdicts> verdicts;
  std::optional<RedlineResult> redline;
};

/// Sections of a report's page; each is "" when there is nothing to show.

/// Size against KL, speed against KL, size against speed, for two models or more; the points that
/// no other beats are joined and named.
std::string pareto_charts_section(const std::vector<ParetoPoint>& points);
/// A chart of intervals and a table with the verdicts for each model.
std::string verdicts_section(const std::vector<ModelVerdicts>& models);
/// The chosen operating point and every candidate's risk.
std::string redline_section(const RedlineResult& result);

}  // namespace cupel::eval
