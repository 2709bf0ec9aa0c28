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
/// Points with numbers that the key explains: `labels`, one a point (Pareto chart). The points of
/// `front` are joined in their order; with a front the others are pale.
std::string scatter_chart(const ChartText& text, const Series& points,
                          const std::vector<std::string>& labels,
                          const std::vector<std::size_t>& front = {});
/// A row a label: its interval and point on one axis, and vertical lines at `marks`.
struct IntervalRow {
  std::string label;
  double value = 0, low = 0, high = 0;
  std::string tip;
};
std::string interval_chart(const ChartText& text, const std::vector<IntervalRow>& rows,
                           const std::vector<double>& marks);
/// The figure of a chart: title, key and note as HTML around an SVG that is still open.
std::string chart_figure(const ChartText& text, const std::string& key, const std::string& svg);
/// A bar for each category and group; `groups` hold a value per category.
std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<Series>& groups);
/// Histogram on a logarithmic axis that reaches eight decades below the largest value; what is
/// smaller, zero included, is in the first bin.
std::string log_histogram(const ChartText& text, const std::vector<double>& values, int bins);

}  // namespace cupel::eval
