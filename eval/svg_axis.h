// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::eval {

/// A range of values along one side of a chart, linear or logarithmic, with round ticks.
class Axis {
 public:
  /// Covers the finite values (positive ones when logarithmic); an empty or constant set gets a range around it.
  Axis(const std::vector<double>& values, bool logarithmic, bool from_zero);
  /// Place of a value between 0 and 1, clamped; not finite is 0.
  double at(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  void linear_ticks();
  void log_ticks();
  bool logarithmic_;
  double low_ = 0, high_ = 1;
  std::vector<double> ticks_;
};

/// A tick's label: "0.02", "1500", "1e-05".
std::string tick_text(double value);

/// A chart's frame: drawing area, axes, grid, titles. Coordinates are those of the view box.
struct Frame {
  double width = 760, height = 300, left = 64, right = 16, top = 30, bottom = 46;
  double x(double share) const { return left + share * (width - left - right); }
  double y(double share) const { return height - bottom - share * (height - top - bottom); }
  std::string open(const std::string& title) const;
  std::string y_axis(const Axis& axis, const std::string& name) const;
  std::string x_axis(const Axis& axis, const std::string& name) const;
  std::string x_name(const std::string& name) const;
  /// Names in the series' colours along the top right.
  std::string legend(const std::vector<std::string>& names) const;
};

/// A number in the SVG, two decimals.
std::string px(double value);

}  // namespace cupel::eval
