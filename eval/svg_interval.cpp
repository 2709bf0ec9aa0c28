// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/svg.h"
#include "eval/svg_axis.h"

namespace cupel::eval {

namespace {

constexpr double kRowHeight = 20;
constexpr std::size_t kLongestLabel = 22;  // about half of the chart's width

std::string shortened(const std::string& label) {
  return label.size() <= kLongestLabel ? label
                                       : cat(label.substr(0, kLongestLabel - 1), "\xE2\x80\xA6");
}

std::string vertical(const Frame& f, double x, const char* css_class) {
  return cat("<line class=\"", css_class, "\" x1=\"", px(x), "\" x2=\"", px(x), "\" y1=\"",
             px(f.top - 4), "\" y2=\"", px(f.y(0)), "\"/>");
}

std::string row_of(const Frame& f, const Axis& x, const IntervalRow& row, double y) {
  std::string out = cat("<text class=\"e\" x=\"", px(f.left - 8), "\" y=\"", px(y + 4.5), "\">",
                        escape_html(shortened(row.label)), "</text>");
  if (x.shows(row.low) && x.shows(row.high))
    out += cat("<line class=\"s0\" x1=\"", px(f.x(x.at(row.low))), "\" x2=\"",
               px(f.x(x.at(row.high))), "\" y1=\"", px(y), "\" y2=\"", px(y), "\"/>");
  if (x.shows(row.value))
    out += cat("<circle class=\"f0\" cx=\"", px(f.x(x.at(row.value))), "\" cy=\"", px(y),
               "\" r=\"4\"><title>", escape_html(row.tip), "</title></circle>");
  return out;
}

}  // namespace

std::string interval_chart(const ChartText& text, const std::vector<IntervalRow>& rows,
                           const std::vector<double>& marks) {
  std::vector<double> covered = text.cover_x;
  covered.insert(covered.end(), marks.begin(), marks.end());
  double widest = 0;
  for (const IntervalRow& row : rows) {
    covered.insert(covered.end(), {row.value, row.low, row.high});
    widest = std::max(widest, text_width(shortened(row.label)));
  }
  const Axis x(covered, text.log_x, false);
  Frame f(x);
  f.left = widest + 16;
  f.top = 8;
  f.height =
      f.top + f.bottom + kRowHeight * static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  std::string out = f.open(text.title) + f.x_axis(x, text.x);
  for (const double mark : marks)
    if (x.shows(mark)) out += vertical(f, f.x(x.at(mark)), mark == 0 ? "axis" : "grid");
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += row_of(f, x, rows[i], f.top + kRowHeight * (static_cast<double>(i) + 0.5));
  return chart_figure(text, "", out);
}

}  // namespace cupel::eval
