// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/svg.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/svg_axis.h"

namespace cupel::eval {

namespace {

constexpr std::size_t kColours = 4;
constexpr std::size_t kMostPoints = 2000;  // of a line; more can't be seen

std::vector<double> extent_x(const std::vector<Series>& series, const std::vector<double>& cover) {
  std::vector<double> out = cover;
  for (const Series& s : series) out.insert(out.end(), s.x.begin(), s.x.end());
  return out;
}

/// Both ends of every error bar.
std::vector<double> extent_y(const std::vector<Series>& series, const std::vector<double>& cover) {
  std::vector<double> out = cover;
  for (const Series& s : series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      const double e = i < s.error.size() ? s.error[i] : 0;
      out.push_back(s.y[i] + e);
      out.push_back(s.y[i] - e);
    }
  return out;
}

std::string key(const std::vector<Series>& series) {
  if (series.size() < 2) return "";
  std::string out = "<p class=\"key\">";
  for (std::size_t i = 0; i < series.size(); ++i)
    out += cat("<span class=\"k", i % kColours, "\">", escape_html(series[i].name), "</span> ");
  return out + "</p>";
}

std::string point(double x, double y, std::size_t colour, double radius, const std::string& tip,
                  double opacity = 1) {
  return cat("<circle class=\"f", colour % kColours, "\" cx=\"", px(x), "\" cy=\"", px(y),
             "\" r=\"", px(radius), opacity < 1 ? cat("\" opacity=\"", px(opacity)) : "",
             "\"><title>", escape_html(tip), "</title></circle>");
}

std::string error_bar(const Frame& f, const Axis& y, double x, double value, double error,
                      std::size_t colour) {
  return cat("<line class=\"s", colour % kColours, "\" x1=\"", px(x), "\" x2=\"", px(x), "\" y1=\"",
             px(f.y(y.at(value - error))), "\" y2=\"", px(f.y(y.at(value + error))), "\"/>");
}

std::string bar(const Frame& f, double left, double width, double share, std::size_t colour,
                const std::string& tip) {
  return cat("<rect class=\"f", colour % kColours, "\" x=\"", px(left), "\" y=\"", px(f.y(share)),
             "\" width=\"", px(std::max(width, 0.5)), "\" height=\"",
             px(std::max(f.y(0) - f.y(share), 0.0)), "\"><title>", escape_html(tip),
             "</title></rect>");
}

/// The values within eight decades of the largest.
std::vector<double> upper_decades(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values)
    if (std::isfinite(v)) largest = std::max(largest, v);
  std::vector<double> out;
  for (const double v : values)
    if (std::isfinite(v) && v > largest * 1e-8) out.push_back(v);
  return out;
}

/// One series; a value that can't be shown interrupts the line.
std::string line(const Frame& f, const Axis& x, const Axis& y, const Series& s,
                 std::size_t colour) {
  const std::size_t count = std::min(s.x.size(), s.y.size()), stride = count / kMostPoints + 1;
  std::string out, points, marks;
  const auto end_line = [&] {
    if (!points.empty())
      out += cat("<polyline class=\"s", colour % kColours, "\" points=\"", points, "\"/>");
    points.clear();
  };
  for (std::size_t i = 0; i < count; i += stride) {
    if (!x.shows(s.x[i]) || !y.shows(s.y[i])) {
      end_line();
      continue;
    }
    const double to_x = f.x(x.at(s.x[i])), to_y = f.y(y.at(s.y[i]));
    points += cat(points.empty() ? "" : " ", px(to_x), ",", px(to_y));
    if (i < s.error.size()) marks += error_bar(f, y, to_x, s.y[i], s.error[i], colour);
    if (count <= 60)
      marks += point(to_x, to_y, colour, 2.2, cat(s.name, ", ", s.x[i], ": ", s.y[i]));
  }
  end_line();
  return out + marks;
}

/// A line through the points at `order`.
std::string joined_points(const Frame& f, const Axis& x, const Axis& y, const Series& points,
                          const std::vector<std::size_t>& order) {
  std::string places;
  for (const std::size_t i : order)
    if (i < points.x.size() && i < points.y.size() && x.shows(points.x[i]) && y.shows(points.y[i]))
      places += cat(places.empty() ? "" : " ", px(f.x(x.at(points.x[i]))), ",",
                    px(f.y(y.at(points.y[i]))));
  return places.empty() ? "" : cat("<polyline class=\"s0\" points=\"", places, "\"/>");
}

}  // namespace

std::string chart_figure(const ChartText& text, const std::string& key, const std::string& svg) {
  return cat("<figure><p class=\"title\">", escape_html(text.title), "</p>", key, svg, "</svg>",
             text.note.empty() ? "" : cat("<figcaption>", escape_html(text.note), "</figcaption>"),
             "</figure>\n");
}

std::string line_chart(const ChartText& text, const std::vector<Series>& series) {
  const Axis x(extent_x(series, text.cover_x), text.log_x, false),
      y(extent_y(series, text.cover_y), text.log_y, false);
  const Frame f(y);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x);
  for (std::size_t s = 0; s < series.size(); ++s) out += line(f, x, y, series[s], s);
  return chart_figure(text, key(series), out);
}

std::string scatter_chart(const ChartText& text, const Series& points,
                          const std::vector<std::string>& labels,
                          const std::vector<std::size_t>& front) {
  const Axis x(extent_x({points}, text.cover_x), text.log_x, false),
      y(extent_y({points}, text.cover_y), text.log_y, false);
  const Frame f(y);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x),
              names = "<p class=\"key\">";
  out += joined_points(f, x, y, points, front);
  for (std::size_t i = 0; i < std::min(points.x.size(), points.y.size()); ++i) {
    const std::string name = i < labels.size() ? labels[i] : "";
    names += cat("<span><b>", i + 1, "</b> ", escape_html(name), "</span> ");
    if (!x.shows(points.x[i]) || !y.shows(points.y[i])) continue;
    const double to_x = f.x(x.at(points.x[i])), to_y = f.y(y.at(points.y[i]));
    if (i < points.error.size()) out += error_bar(f, y, to_x, points.y[i], points.error[i], 0);
    const bool pale = !front.empty() && std::find(front.begin(), front.end(), i) == front.end();
    out += point(to_x, to_y, 0, 4, cat(name, ": ", points.x[i], ", ", points.y[i]), pale ? 0.4 : 1);
    out += cat("<text class=\"b\" x=\"", px(to_x + 7), "\" y=\"", px(to_y - 6), "\">", i + 1,
               "</text>");
  }
  return chart_figure(text, names + "</p>", out);
}

std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<Series>& groups) {
  const Axis y(extent_y(groups, text.cover_y), text.log_y, true);
  const Frame f(y);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_name(text.x);
  const double slot =
      (f.x(1) - f.x(0)) / std::max<double>(1, static_cast<double>(categories.size()));
  const double width = slot * 0.8 / std::max<double>(1, static_cast<double>(groups.size()));
  double widest = 0;
  for (const std::string& c : categories) widest = std::max(widest, text_width(c) + 8);
  const std::size_t stride = static_cast<std::size_t>(widest / slot) + 1;
  for (std::size_t c = 0; c < categories.size(); ++c) {
    const double left = f.x(0) + static_cast<double>(c) * slot + slot * 0.1;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (c < groups[g].y.size() && y.shows(groups[g].y[c]))
        out += bar(f, left + static_cast<double>(g) * width, width - 0.5, y.at(groups[g].y[c]), g,
                   cat(groups[g].name, ", ", categories[c], ": ", groups[g].y[c]));
    if (c % stride == 0) out += f.x_label(left + slot * 0.4, categories[c]);
  }
  return chart_figure(text, key(groups), out);
}

std::string log_histogram(const ChartText& text, const std::vector<double>& values, int bins) {
  const Axis x(upper_decades(text.cover_x.empty() ? values : text.cover_x), true, false);
  std::vector<double> counts(static_cast<std::size_t>(std::max(bins, 1)), 0.0);
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    const auto at = static_cast<std::size_t>(x.at(v) * static_cast<double>(counts.size()));
    counts[std::min(at, counts.size() - 1)] += 1;
  }
  const Axis y(counts, false, true);
  const Frame f(y);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x);
  const double width = (f.x(1) - f.x(0)) / static_cast<double>(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      out += bar(f, f.x(0) + static_cast<double>(i) * width + 0.5, width - 1, y.at(counts[i]), 0,
                 cat(counts[i]));
  return chart_figure(text, "", out);
}

}  // namespace cupel::eval
