// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::eval {

/// Charts as HTML figures: title and key as text, which keeps its size on every screen, and one
/// inline SVG that follows the page's colours (light, dark, print) and scales with its column.
/// Values that have no place on an axis are left out.

struct Series {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> error;  ///< half height of error bars; empty for none
};

struct ChartText {
  std::string title, x, y;
  bool log_x = false, log_y = false;
  std::string note;  ///< below the chart
  std::vector<double> cover_x,
      cover_y;  ///< what the axes cover besides, so that neighbours share a scale
};

/// Lines, with points where they can be told apart.
std::string line_chart(const ChartText& text, const std::vector<Series>& series);
/// Points with numbers that the key explains: `labels`, one a point (Pareto chart).
std::string scatter_chart(const ChartText& text, const Series& points,
                          const std::vector<std::string>& labels);
/// A bar for each category and group; `groups` hold a value per category.
std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<Series>& groups);
/// Histogram on a logarithmic axis that reaches eight decades below the largest value; what is
/// smaller, zero included, is in the first bin.
std::string log_histogram(const ChartText& text, const std::vector<double>& values, int bins);

}  // namespace cupel::eval
