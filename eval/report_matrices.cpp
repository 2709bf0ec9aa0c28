// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "eval/report_sections.h"
#include "eval/svg.h"

namespace cupel::eval {

namespace {

constexpr std::size_t kMostLines = 4;  // more can't be told apart by colour

/// Mean of `value` over the matrices of each layer, in layer order; of one role, or of all when it
/// is "".
Series by_layer(const std::vector<MatrixRow>& rows, const std::string& role,
                double MatrixRow::*value) {
  std::map<int, std::pair<double, int>> sums;
  for (const MatrixRow& r : rows) {
    if (r.layer < 0 || (!role.empty() && r.role != role)) continue;
    sums[r.layer].first += r.*value;
    sums[r.layer].second += 1;
  }
  Series out;
  out.name = role;
  for (const auto& [layer, sum] : sums) {
    out.x.push_back(layer);
    out.y.push_back(sum.first / sum.second);
  }
  return out;
}

/// In order of appearance.
std::vector<std::string> roles_of(const std::vector<MatrixRow>& rows) {
  std::vector<std::string> out;
  for (const MatrixRow& r : rows)
    if (r.layer >= 0 && std::find(out.begin(), out.end(), r.role) == out.end())
      out.push_back(r.role);
  return out;
}

/// Charts of at most four roles, all on one scale.
std::string error_charts(const std::vector<MatrixRow>& rows) {
  std::vector<Series> all;
  for (const std::string& role : roles_of(rows))
    all.push_back(by_layer(rows, role, &MatrixRow::relative_error));
  ChartText text;
  text.title = "Error of each matrix";
  text.x = "layer";
  text.y = "error / signal";
  text.log_y = true;
  for (const Series& s : all) text.cover_y.insert(text.cover_y.end(), s.y.begin(), s.y.end());
  std::string out;
  for (std::size_t first = 0; first < all.size(); first += kMostLines) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kMostLines, all.size() - first));
    out += line_chart(text, {begin, begin + count});
    text.title = "Error of each matrix, continued";
  }
  return out;
}

std::string bits_chart(const std::vector<MatrixRow>& rows) {
  Series bits = by_layer(rows, "", &MatrixRow::bits_per_weight);
  bits.name = "layer";
  std::vector<std::string> layers;
  for (const double layer : bits.x) layers.push_back(cat(layer));
  ChartText text;
  text.title = "Bits a weight, mean of each layer's matrices";
  text.x = "layer";
  text.y = "bits";
  return layers.empty() ? "" : bar_chart(text, layers, {bits});
}

Table matrix_table(const std::vector<MatrixRow>& rows) {
  Table t{{"matrix", "method", "layout", "bits/weight", "relative error", "note"}, {}};
  for (const MatrixRow& r : rows)
    t.rows.push_back({r.name, r.method, r.layout, fixed(r.bits_per_weight, 3),
                      fixed(r.relative_error, 6), r.fallback.empty() ? r.note : r.fallback});
  return t;
}

}  // namespace

std::string matrices_section(const std::vector<MatrixRow>& rows) {
  if (rows.empty()) return "";
  return cat("<h2>Layer by layer</h2>\n<div class=\"charts\">", error_charts(rows),
             bits_chart(rows), "</div>\n<details><summary>All ", rows.size(), " matrices</summary>",
             matrix_table(rows).html(), "</details>\n");
}

std::string curves_section(const std::vector<Curve>& curves) {
  std::string out;
  for (const Curve& c : curves) {
    ChartText text;
    text.title = c.step;
    text.x = "step";
    text.y = c.metric;
    out += line_chart(text, {{c.metric, c.x, c.y, {}}});
  }
  return out.empty() ? "" : cat("<h2>Training</h2>\n<div class=\"charts\">", out, "</div>\n");
}

}  // namespace cupel::eval
