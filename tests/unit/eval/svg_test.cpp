// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/svg.h"

#include <cmath>
#include <limits>

#include "tests/unit/eval/markup.h"

namespace cupel::eval {
namespace {

using test::count;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ChartText chart(bool log_x, bool log_y) {
  ChartText t;
  t.title = "a < b & \"c\"";
  t.x = "x <";
  t.y = "y &";
  t.log_x = log_x;
  t.log_y = log_y;
  t.note = "'note' <";
  return t;
}

TEST(Charts, AnyInputGivesWellFormedMarkupAndFiniteNumbers) {
  std::vector<double> many(10000);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = std::exp(std::sin(static_cast<double>(i)) * 9);
  const std::vector<std::vector<double>> sets = {{},
                                                 {0},
                                                 {1},
                                                 {-2},
                                                 {3, 3, 3},
                                                 {1e300, -1e300, 1},
                                                 {5e-324, 1e308},
                                                 {kNan, 1, kInf, 2, -kInf},
                                                 {kNan},
                                                 many};
  for (const auto& v : sets)
    for (const bool log : {false, true}) {
      const Series s{"<s> & t", v, v, v};
      std::vector<std::string> names;
      for (std::size_t i = 0; i < std::min<std::size_t>(v.size(), 500); ++i)
        names.push_back("<c&>");
      for (const std::string& out :
           {line_chart(chart(log, log), {s, s}), scatter_chart(chart(log, log), s, names),
            bar_chart(chart(log, log), names, {s, s}), log_histogram(chart(log, log), v, 40)}) {
        test::expect_well_formed(out);
        test::expect_finite(out.substr(0, out.find("<circle")));
        EXPECT_EQ(count(out, "<svg"), 1u);
      }
    }
}

TEST(Charts, NothingToDraw) {
  EXPECT_EQ(count(line_chart(chart(false, false), {}), "<polyline"), 0u);
  EXPECT_EQ(count(bar_chart(chart(false, false), {}, {}), "<rect"), 0u);
  EXPECT_EQ(count(log_histogram(chart(false, false), {}, 0), "<rect"), 0u);
}

TEST(LineChart, ValuesWithoutAPlaceInterruptTheLine) {
  const std::string out =
      line_chart(chart(false, true), {{"s", {0, 1, 2, 3, 4}, {1, 2, 0, kNan, 3}, {}}});
  EXPECT_EQ(count(out, "<polyline"), 2u);
  EXPECT_EQ(count(out, "<circle"), 3u);
}

TEST(LineChart, ALongCurveStaysSmall) {
  Series s{"loss", {}, {}, {}};
  for (int i = 0; i < 200000; ++i) {
    s.x.push_back(i);
    s.y.push_back(1.0 / (1 + i));
  }
  EXPECT_LT(line_chart(chart(false, false), {s}).size(), 60000u);
}

TEST(LineChart, KeyOnlyForSeveralSeries) {
  const Series s{"name", {0, 1}, {0, 1}, {}};
  EXPECT_EQ(count(line_chart(chart(false, false), {s}), "class=\"key\""), 0u);
  EXPECT_EQ(count(line_chart(chart(false, false), {s, s, s}), "class=\"k2\""), 1u);
}

TEST(ScatterChart, NumbersAreExplained) {
  const std::string out = scatter_chart(chart(false, false), {"", {1, 2}, {3, 4}, {0.5, 0.5}},
                                        {"one.cupel", "two.cupel"});
  EXPECT_EQ(count(out, "<b>2</b> two.cupel"), 1u);
  EXPECT_EQ(count(out, "<circle"), 2u);
  EXPECT_EQ(count(out, "<line class=\"s0\""), 2u);
}

TEST(Histogram, EveryFiniteValueIsInABin) {
  const std::string out = log_histogram(chart(true, false), {0, 1e-30, 0.01, 1, 1, 10, kNan}, 10);
  // The first bin has its own value and two from below.
  EXPECT_EQ(count(out, "<rect"), 3u);
  EXPECT_EQ(count(out, "<title>3</title>"), 1u);
  EXPECT_EQ(count(out, "<title>2</title>"), 1u);
  EXPECT_EQ(count(out, "<title>1</title>"), 1u);
}

TEST(Charts, NeighboursShareAScale) {
  ChartText text = chart(false, false);
  text.cover_y = {0, 100};
  const std::string out = line_chart(text, {{"s", {0, 1}, {1, 2}, {}}});
  EXPECT_EQ(count(out, ">100</text>"), 1u);
}

}  // namespace
}  // namespace cupel::eval
