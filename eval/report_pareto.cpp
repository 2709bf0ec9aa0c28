// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <functional>
#include <limits>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_comparison.h"
#include "eval/stats/pareto.h"
#include "eval/svg.h"

namespace cupel::eval {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What can be on an axis.
struct Measure {
  const char *name, *short_name;
  std::function<double(const ParetoPoint&)> value;  ///< NaN where it is not known
  bool more_is_better, logarithmic;
};

Measure size_of_file() {
  return {"file, MB", "size",
          [](const ParetoPoint& p) { return p.bytes > 0 ? p.bytes / 1e6 : kUnknown; }, false,
          false};
}
Measure divergence() {
  return {"KL, nats a token", "KL", [](const ParetoPoint& p) { return p.kl.value_or(kUnknown); },
          false, true};
}
Measure speed() {
  return {
      "generation, tokens a second", "speed",
      [](const ParetoPoint& p) { return p.tokens_per_second > 0 ? p.tokens_per_second : kUnknown; },
      true, false};
}

double cost(const Measure& m, const ParetoPoint& p) {
  return m.more_is_better ? -m.value(p) : m.value(p);
}

std::vector<std::size_t> front_of(const std::vector<ParetoPoint>& points,
                                  const std::vector<Measure>& measures) {
  std::vector<std::vector<double>> costs;
  for (const ParetoPoint& p : points) {
    costs.emplace_back();
    for (const Measure& m : measures) costs.back().push_back(cost(m, p));
  }
  return pareto_front(costs);
}

std::vector<ParetoPoint> with(const std::vector<ParetoPoint>& points,
                              const std::vector<Measure>& measures) {
  std::vector<ParetoPoint> out;
  for (const ParetoPoint& p : points)
    if (std::all_of(measures.begin(), measures.end(),
                    [&](const Measure& m) { return m.value(p) == m.value(p); }))
      out.push_back(p);
  return out;
}

/// Names of the points whose value has no place on a logarithmic axis.
std::string left_out(const std::vector<ParetoPoint>& points, const Measure& y) {
  std::vector<std::string> names;
  for (const ParetoPoint& p : points)
    if (y.logarithmic && y.value(p) <= 0) names.push_back(p.name);
  return names.empty() ? "" : cat(" Without a place on a logarithmic axis: ", joined(names), ".");
}

std::string chart(const char* title, const std::vector<ParetoPoint>& all, const Measure& x,
                  const Measure& y) {
  const std::vector<ParetoPoint> points = with(all, {x, y});
  if (points.size() < 2) return "";
  Series places;
  std::vector<std::string> names;
  for (const ParetoPoint& p : points) {
    places.x.push_back(x.value(p));
    places.y.push_back(y.value(p));
    if (y.logarithmic) places.error.push_back(p.kl_error.value_or(0));
    names.push_back(p.name);
  }
  std::vector<std::size_t> front = front_of(points, {x, y});
  std::sort(front.begin(), front.end(),
            [&](std::size_t a, std::size_t b) { return places.x[a] < places.x[b]; });
  ChartText text;
  text.title = title;
  text.x = x.name;
  text.y = y.name;
  text.log_y = y.logarithmic;
  text.note = cat(front.size() == 1 ? cat(names[front[0]], " beats every other in both.")
                                    : "The line joins the models that no other beats in both.",
                  left_out(points, y));
  return scatter_chart(text, places, names, front);
}

/// The models that are best for some wish.
std::string front_sentence(const std::vector<ParetoPoint>& all) {
  std::vector<Measure> measures = {size_of_file(), divergence(), speed()};
  if (with(all, measures).size() < 2) measures.pop_back();
  const std::vector<ParetoPoint> points = with(all, measures);
  if (points.size() < 2) return "";
  std::vector<std::string> names, what;
  for (const std::size_t i : front_of(points, measures)) names.push_back(points[i].name);
  for (const Measure& m : measures) what.push_back(m.short_name);
  return cat("Not beaten in ", joined(what), " at once: ", joined(names), " (of ", points.size(),
             " models).");
}

}  // namespace

std::string pareto_charts_section(const std::vector<ParetoPoint>& points) {
  const std::string charts = cat(chart("KL by size", points, size_of_file(), divergence()),
                                 chart("KL by speed", points, speed(), divergence()),
                                 chart("Speed by size", points, size_of_file(), speed()));
  if (charts.empty()) return "";
  const std::string sentence = front_sentence(points);
  return cat("<h2>Size against divergence</h2>\n",
             sentence.empty() ? "" : cat("<p>", escape_html(sentence), "</p>\n"),
             "<div class=\"charts\">", charts, "</div>\n");
}

}  // namespace cupel::eval
