// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/report_comparison.h"

#include <cmath>

#include "eval/report.h"
#include "eval/stats/pareto.h"
#include "eval/svg.h"
#include "tests/unit/eval/example.h"
#include "tests/unit/eval/markup.h"

namespace cupel::eval {
namespace {

using test::count;
using Indexes = std::vector<std::size_t>;

std::vector<ParetoPoint> ladder() {
  return {{"original", 300e6, {}, {}, 20},
          {"8 bit", 150e6, 0.001, 0.0001, 35},
          {"4 bit", 80e6, 0.05, 0.002, 60},
          {"4 bit <plain>", 82e6, 0.09, 0.002, 59},
          {"3 bit", 60e6, 0.2, {}, 50}};
}

/// Scores of `documents`, of which the first `lost` get worse.
PairedScores scores(const std::string& task, int documents, int lost) {
  PairedScores t{task, "acc", {}, {}};
  for (int i = 0; i < documents; ++i) {
    t.reference.push_back(i % 3 > 0 || i < lost ? 1 : 0);
    t.model.push_back(i < lost ? 0 : t.reference.back());
  }
  return t;
}

ModelVerdicts verdicts(const std::string& model) {
  ModelVerdicts m{model, "original", {}, {}};
  m.tasks = judge_tasks(
      {scores("piqa", 2000, 2), scores("arc_<easy>", 1000, 60), scores("copa", 100, 3)}, m.options);
  return m;
}

TEST(ParetoFront, KeepsWhatNothingBeats) {
  EXPECT_EQ(pareto_front({{1, 5}, {2, 4}, {2, 5}, {3, 3}, {4, 3}}), (Indexes{0, 1, 3}));
  EXPECT_EQ(pareto_front({{1, 1}, {1, 1}}), (Indexes{0, 1}));
  EXPECT_EQ(pareto_front({{1, 2}, {std::nan(""), 0}, {0, 3}}), (Indexes{0, 2}));
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(ParetoSection, MarksTheFrontOfEachChart) {
  const std::string html = pareto_charts_section(ladder());
  test::expect_well_formed(html);
  test::expect_finite(html);
  EXPECT_EQ(count(html, "<svg"), 3u);
  EXPECT_EQ(count(html, "<polyline class=\"s0\""), 3u);
  // Pale: the beaten model in each, and slower ones where speed counts.
  EXPECT_EQ(count(html, "opacity=\"0.40\""), 1u + 2u + 3u);
  EXPECT_EQ(count(html, "<title>4 bit &lt;plain&gt;: 82, 0.09</title>"), 1u);
  EXPECT_EQ(
      count(html, "Not beaten in size, KL, speed at once: 8 bit, 4 bit, 3 bit (of 4 models)."), 1u);
}

TEST(ParetoSection, LeavesOutWhatIsNotKnown) {
  std::vector<ParetoPoint> points = ladder();
  for (ParetoPoint& p : points) p.tokens_per_second = 0;
  const std::string no_speed = pareto_charts_section(points);
  EXPECT_EQ(count(no_speed, "<svg"), 1u);
  EXPECT_NE(no_speed.find("Not beaten in size, KL at once"), std::string::npos);
  points[1].kl = 0;  // lossless: no logarithm
  EXPECT_NE(pareto_charts_section(points).find("Without a place on a logarithmic axis: 8 bit."),
            std::string::npos);
  EXPECT_EQ(pareto_charts_section({points[1]}), "");
  EXPECT_EQ(pareto_charts_section({}), "");
}

TEST(ScatterChart, WithoutAFrontNothingIsPale) {
  ChartText text;
  const Series points{"", {1, 2, 3}, {3, 2, 1}, {}};
  EXPECT_EQ(count(scatter_chart(text, points, {"a", "b", "c"}), "opacity"), 0u);
  const std::string out = scatter_chart(text, points, {"a", "b", "c"}, {0, 2, 7});
  EXPECT_EQ(count(out, "opacity"), 1u);
  EXPECT_EQ(count(out, "<polyline"), 1u);
}

TEST(IntervalChart, AnyInputGivesWellFormedMarkup) {
  ChartText text;
  text.title = "<t>";
  for (const auto& rows : std::vector<std::vector<IntervalRow>>{
           {},
           {{"a", 1, 0, 2, "tip <"}},
           {{"a name that is much too long for the margin of a chart", 1e300, -1e300, 2, ""}},
           {{"b", std::nan(""), std::nan(""), 1, ""}, {"c", 0, 0, 0, ""}}}) {
    const std::string out = interval_chart(text, rows, {0, 1});
    test::expect_well_formed(out);
    test::expect_finite(out);
    EXPECT_EQ(count(out, "<svg"), 1u);
  }
  EXPECT_EQ(count(interval_chart(text, {{"a", 1, 0, 2, "t"}, {"b", 1, 0, 2, "t"}}, {0}), "<circle"),
            2u);
}

TEST(VerdictsSection, TableAndChartForEachModel) {
  EXPECT_EQ(verdicts_section({}), "");
  EXPECT_EQ(verdicts_section({{"m", "r", {}, {}}}), "");
  const std::string html = verdicts_section({verdicts("a<b"), verdicts("c")});
  test::expect_well_formed(html);
  test::expect_finite(html);
  EXPECT_EQ(count(html, "<svg"), 2u);
  EXPECT_EQ(count(html, "<table>"), 2u);
  for (const char* there :
       {"no loss larger than 1 point at 95 %", "loses 6.0 points (95 %: 4.7 to 7.6)",
        "not decided; about ", "arc_&lt;easy&gt;", "points lost: arc_&lt;easy&gt; (6.0)",
        "a&lt;b: points lost against original"})
    EXPECT_NE(html.find(there), std::string::npos) << there;
}

TEST(RedlineSection, NamesTheChosenOne) {
  EXPECT_EQ(redline_section({}), "");
  const std::string html = redline_section(redline({{"8 <bit>", 35, 400, 1},
                                                    {"4 bit", 60, 400, 5},
                                                    {"3 bit", 70, 400, 50},
                                                    {"2", -8e6, 400, 9}}));
  test::expect_well_formed(html);
  EXPECT_EQ(count(html, "<td>chosen</td>"), 1u);
  EXPECT_EQ(count(html, "<td>admitted</td>"), 1u);
  EXPECT_EQ(count(html, "<td>refused</td>"), 1u);
  EXPECT_EQ(count(html, "<td>not tested</td>"), 1u);
  EXPECT_NE(html.find("4 bit: at confidence 95 %"), std::string::npos);
  EXPECT_NE(html.find("8.00 MB"), std::string::npos);
}

TEST(EvalReportPage, ComparisonsAreOptional) {
  const std::vector<EvalResult> results = {test::example_result("original", 1, false),
                                           test::example_result("small", 1, true),
                                           test::example_result("smaller", 1, true)};
  const std::string without = eval_report_html("t", results);
  EXPECT_EQ(count(without, "Tasks against the reference"), 0u);
  EXPECT_EQ(count(without, "risk budget"), 0u);
  EXPECT_EQ(count(without, "Size against divergence"), 1u);
  const std::string with =
      eval_report_html("t", results, {{verdicts("small")}, redline({{"small", 3, 400, 2}})});
  test::expect_well_formed(std::string_view(with).substr(
      with.find("<main>"), with.find("</body>") - with.find("<main>")));
  EXPECT_EQ(count(with, "Tasks against the reference"), 1u);
  EXPECT_EQ(count(with, "<h2>Operating point within a risk budget"), 1u);
}

}  // namespace
}  // namespace cupel::eval
