// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::eval {

/// Small inline SVG charts that follow the page's colours (light, dark, print) and scale with its width.

struct Series {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> error;   ///< half height of error bars; empty for none
};
struct ChartText {
  std::string title, x, y;
  bool log_x = false, log_y = false;
};

/// Lines with points.
std::string line_chart(const ChartText& text, const std::vector<Series>& series);
/// Points with labels (Pareto chart).
std::string scatter_chart(const ChartText& text, const std::vector<Series>& series, const std::vector<std::string>& labels);
/// One bar a category; `groups` holds a value per category for each series.
std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories, const std::vector<Series>& groups);
/// Histogram of values on a logarithmic axis (per-token KL).
std::string log_histogram(const ChartText& text, const std::vector<double>& values, int bins);

}  // namespace cupel::eval
