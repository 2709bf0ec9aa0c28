// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/svg_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cupel::eval {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& t : axis.ticks()) out.push_back(t.label);
  return out;
}
using Labels = std::vector<std::string>;

TEST(Axis, RoundTicksAroundTheValues) {
  const Axis axis({3, 41}, false, false);
  EXPECT_EQ(labels(axis), (Labels{"0", "10", "20", "30", "40", "50"}));
  EXPECT_DOUBLE_EQ(axis.at(25), 0.5);
  EXPECT_EQ(axis.at(-9), 0);
  EXPECT_EQ(axis.at(99), 1);
  EXPECT_EQ(labels(Axis({0.3, 0.72}, false, false)),
            (Labels{"0.3", "0.4", "0.5", "0.6", "0.7", "0.8"}));
  EXPECT_EQ(labels(Axis({2, 7}, false, true)).front(), "0");
}

TEST(Axis, LabelsTellNeighboursApart) {
  EXPECT_EQ(labels(Axis({100.2, 101.9}, false, false)),
            (Labels{"100.0", "100.5", "101.0", "101.5", "102.0"}));
  EXPECT_EQ(labels(Axis({1e-4, 2.8e-4}, false, false)),
            (Labels{"1e-4", "1.5e-4", "2e-4", "2.5e-4", "3e-4"}));
  EXPECT_EQ(labels(Axis({0, 3.9e6}, false, false)), (Labels{"0", "1e6", "2e6", "3e6", "4e6"}));
  EXPECT_EQ(labels(Axis({-1, 1}, false, false)), (Labels{"-1.0", "-0.5", "0", "0.5", "1.0"}));
}

TEST(Axis, LogarithmicDecades) {
  const Axis axis({2e-5, 3}, true, false);
  EXPECT_EQ(labels(axis), (Labels{"1e-5", "1e-4", "0.001", "0.01", "0.1", "1", "10"}));
  EXPECT_NEAR(axis.at(0.01), 0.5, 1e-12);
  EXPECT_EQ(axis.at(0), 0);
  EXPECT_EQ(labels(Axis({0.003, 0.04}, true, false)),
            (Labels{"0.002", "0.005", "0.01", "0.02", "0.05"}));
  EXPECT_LE(Axis({1e-300, 1e300}, true, false).ticks().size(), 8u);
}

TEST(Axis, EmptyConstantAndExtremeSets) {
  const std::vector<std::vector<double>> sets = {{},
                                                 {0},
                                                 {5},
                                                 {-3},
                                                 {1e-300},
                                                 {1e300},
                                                 {1e150, -1e150},
                                                 {kNan, kInf, -kInf},
                                                 {kNan, 2},
                                                 {1e15, 1e15 + 1},
                                                 {5e-324},
                                                 {1, 1 + 1e-15},
                                                 {0.1, 0.1},
                                                 {1000},
                                                 {-1e-9, 1e-9}};
  for (const auto& values : sets)
    for (const bool logarithmic : {false, true})
      for (const bool from_zero : {false, true}) {
        const Axis axis(values, logarithmic, from_zero);
        ASSERT_GE(axis.ticks().size(), 2u);
        ASSERT_LE(axis.ticks().size(), 10u);
        for (std::size_t i = 0; i < axis.ticks().size(); ++i) {
          EXPECT_GE(axis.ticks()[i].at, i ? axis.ticks()[i - 1].at : -1e-9);
          EXPECT_LE(axis.ticks()[i].at, 1 + 1e-9);
          EXPECT_TRUE(i == 0 || axis.ticks()[i].label != axis.ticks()[i - 1].label);
        }
        for (const double v : values) {
          EXPECT_GE(axis.at(v), 0);
          EXPECT_LE(axis.at(v), 1);
        }
      }
}

}  // namespace
}  // namespace cupel::eval
