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

std::vector<double> all_x(const std::vector<Series>& series) {
  std::vector<double> out;
  for (const Series& s : series) out.insert(out.end(), s.x.begin(), s.x.end());
  return out;
}

std::vector<double> all_y(const std::vector<Series>& series) {
  std::vector<double> out;
  for (const Series& s : series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      const double e = i < s.error.size() ? s.error[i] : 0;
      out.push_back(s.y[i] + e);
      out.push_back(s.y[i] - e);
    }
  return out;
}

std::vector<std::string> names_of(const std::vector<Series>& series) {
  std::vector<std::string> out;
  for (const Series& s : series) out.push_back(s.name);
  return out;
}

std::string circle(double x, double y, std::size_t colour, double radius, const std::string& tip) {
  return cat("<circle class=\"f", colour % 4, "\" cx=\"", px(x), "\" cy=\"", px(y), "\" r=\"", px(radius), "\"><title>",
             escape_html(tip), "</title></circle>");
}

std::string error_bar(const Frame& f, const Axis& y, double x, double value, double error, std::size_t colour) {
  return cat("<line class=\"s", colour % 4, "\" x1=\"", px(x), "\" x2=\"", px(x), "\" y1=\"", px(f.y(y.at(value - error))),
             "\" y2=\"", px(f.y(y.at(value + error))), "\" stroke-width=\"1.5\"/>");
}

}  // namespace

std::string line_chart(const ChartText& text, const std::vector<Series>& series) {
  const Frame f;
  const Axis x(all_x(series), text.log_x, false), y(all_y(series), text.log_y, false);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x);
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::string points;
    for (std::size_t i = 0; i < series[s].x.size(); ++i)
      points += cat(i ? " " : "", px(f.x(x.at(series[s].x[i]))), ",", px(f.y(y.at(series[s].y[i]))));
    out += cat("<polyline class=\"s", s % 4, "\" fill=\"none\" stroke-width=\"1.8\" stroke-linejoin=\"round\" points=\"", points, "\"/>");
    // Points only where they can be told apart.
    for (std::size_t i = 0; series[s].x.size() <= 80 && i < series[s].x.size(); ++i) {
      const double at = f.x(x.at(series[s].x[i]));
      if (i < series[s].error.size()) out += error_bar(f, y, at, series[s].y[i], series[s].error[i], s);
      out += circle(at, f.y(y.at(series[s].y[i])), s, 2.6, cat(series[s].name, ": ", tick_text(series[s].x[i]), ", ", series[s].y[i]));
    }
  }
  return out + (series.size() > 1 ? f.legend(names_of(series)) : "") + "</svg>";
}

std::string scatter_chart(const ChartText& text, const std::vector<Series>& series, const std::vector<std::string>& labels) {
  const Frame f;
  const Axis x(all_x(series), text.log_x, false), y(all_y(series), text.log_y, false);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x);
  std::size_t label = 0;
  for (std::size_t s = 0; s < series.size(); ++s)
    for (std::size_t i = 0; i < series[s].x.size(); ++i, ++label) {
      const double px_x = f.x(x.at(series[s].x[i])), px_y = f.y(y.at(series[s].y[i]));
      if (i < series[s].error.size()) out += error_bar(f, y, px_x, series[s].y[i], series[s].error[i], s);
      const std::string name = label < labels.size() ? labels[label] : series[s].name;
      out += circle(px_x, px_y, s, 4, cat(name, ": ", series[s].x[i], ", ", series[s].y[i]));
      const bool left = x.at(series[s].x[i]) > 0.7;
      out += cat("<text x=\"", px(px_x + (left ? -8 : 8)), "\" y=\"", px(px_y - 7), "\" text-anchor=\"", left ? "end" : "start", "\">",
                 escape_html(name), "</text>");
    }
  return out + "</svg>";
}

std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories, const std::vector<Series>& groups) {
  const Frame f;
  const Axis y(all_y(groups), text.log_y, true);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_name(text.x);
  const double slot = (f.x(1) - f.x(0)) / std::max<double>(1, static_cast<double>(categories.size()));
  const double bar = slot * 0.8 / std::max<double>(1, static_cast<double>(groups.size()));
  const std::size_t stride = categories.size() / 24 + 1;
  for (std::size_t c = 0; c < categories.size(); ++c) {
    const double left = f.x(0) + static_cast<double>(c) * slot + slot * 0.1;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (c >= groups[g].y.size()) continue;
      const double top = f.y(y.at(groups[g].y[c]));
      out += cat("<rect class=\"f", g % 4, "\" x=\"", px(left + static_cast<double>(g) * bar), "\" y=\"", px(top), "\" width=\"",
                 px(std::max(bar - 0.5, 0.5)), "\" height=\"", px(std::max(f.y(0) - top, 0.0)), "\"><title>",
                 escape_html(cat(categories[c], ", ", groups[g].name, ": ", groups[g].y[c])), "</title></rect>");
    }
    if (c % stride == 0)
      out += cat("<text x=\"", px(left + slot * 0.4), "\" y=\"", px(f.y(0) + 17), "\" text-anchor=\"middle\">", escape_html(categories[c]), "</text>");
  }
  return out + (groups.size() > 1 ? f.legend(names_of(groups)) : "") + "</svg>";
}

std::string log_histogram(const ChartText& text, const std::vector<double>& values, int bins) {
  const Frame f;
  const Axis x(values, true, false);
  std::vector<double> counts(static_cast<std::size_t>(std::max(bins, 1)), 0.0);
  for (const double v : values) {
    const auto at = static_cast<std::size_t>(x.at(v) * static_cast<double>(counts.size()));
    counts[std::min(at, counts.size() - 1)] += 1;
  }
  const Axis y(counts, false, true);
  std::string out = f.open(text.title) + f.y_axis(y, text.y) + f.x_axis(x, text.x);
  const double width = (f.x(1) - f.x(0)) / static_cast<double>(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double top = f.y(y.at(counts[i]));
    out += cat("<rect class=\"f0\" x=\"", px(f.x(0) + static_cast<double>(i) * width + 0.5), "\" y=\"", px(top), "\" width=\"",
               px(std::max(width - 1, 0.5)), "\" height=\"", px(std::max(f.y(0) - top, 0.0)), "\"/>");
  }
  return out + "</svg>";
}

}  // namespace cupel::eval
