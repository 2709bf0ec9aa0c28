// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::eval {

struct Tick {
  double at = 0;  ///< place between 0 and 1
  std::string label;
};

/// A range of values along one side of a chart, linear or logarithmic, with round ticks.
class Axis {
 public:
  /// Covers the values that it can show; an empty or constant set gets a range around it.
  Axis(const std::vector<double>& values, bool logarithmic, bool from_zero);
  /// False for what has no place: not finite, beyond 1e150, not positive on a logarithmic axis.
  bool shows(double value) const;
  /// Place of a value between 0 and 1, clamped; 0 where it has none.
  double at(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double scaled(double value) const;
  void linear_ticks();
  void log_ticks();
  bool logarithmic_;
  double low_ = 0, high_ = 1;  ///< decimal logarithms when logarithmic
  std::vector<Tick> ticks_;
};

/// A chart's frame: drawing area, axes, grid, names. Coordinates are those of the view box, which
/// is as narrow as a phone's screen nearly is: text keeps its size there, and a wide page puts two
/// charts side by side.
struct Frame {
  /// The left margin has room for the labels of `y`.
  explicit Frame(const Axis& y);
  double width = 440, height = 250, left = 0, right = 24, top = 28, bottom = 44;
  double x(double share) const { return left + share * (width - left - right); }
  double y(double share) const { return height - bottom - share * (height - top - bottom); }
  std::string open(const std::string& title) const;
  std::string y_axis(const Axis& axis, const std::string& name) const;
  std::string x_axis(const Axis& axis, const std::string& name) const;
  /// The line below, and the name alone.
  std::string x_name(const std::string& name) const;
  std::string x_label(double at, const std::string& label) const;
};

/// Width of a text in the view box at most: that of the larger letters that a phone gets.
double text_width(const std::string& text);
/// A number in the SVG, two decimals.
std::string px(double value);

}  // namespace cupel::eval
