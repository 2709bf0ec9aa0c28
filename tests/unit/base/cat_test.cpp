// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/cat.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace cupel {
namespace {

TEST(Cat, JoinsEveryKindOfPart) {
  const char* pointer = "pointer";
  const std::string text = "text";
  EXPECT_EQ(cat("literal ", pointer, ' ', text, " ", 3, " ", true, false),
            "literal pointer text 3 truefalse");
  EXPECT_EQ(cat(std::string_view("view"), int64_t{-5}, uint8_t{200}, 'c'), "view-5200c");
  EXPECT_EQ(cat(), "");
}

TEST(Cat, NumbersAreShortestThatReadBack) {
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(2.0), "2");
  EXPECT_EQ(cat(1e-7), "1e-07");
  EXPECT_EQ(cat(0.1f), "0.1");
  EXPECT_EQ(std::stod(cat(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(Cat, Fixed) {
  EXPECT_EQ(fixed(1.005, 1), "1.0");
  EXPECT_EQ(fixed(-2.5, 0), "-2");
  EXPECT_EQ(fixed(12.3456, 3), "12.346");
  EXPECT_EQ(fixed(1e308, 2).size(), 312u);
}

TEST(Cat, HumanBytesHasThreeDigits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(513), "513 B");
  EXPECT_EQ(human_bytes(1500), "1.50 kB");
  EXPECT_EQ(human_bytes(94.6e6), "94.6 MB");
  EXPECT_EQ(human_bytes(476e6), "476 MB");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(999600), "1.00 MB");
  EXPECT_EQ(human_bytes(9996), "10.0 kB");
  EXPECT_EQ(human_bytes(99960), "100 kB");
  EXPECT_EQ(human_bytes(-2e9), "-2.00 GB");
}

TEST(Cat, Lists) {
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b"}), "a, b");
  EXPECT_EQ(list_text(std::vector<int>{2, 576}), "[2, 576]");
  EXPECT_EQ(list_text(std::vector<std::string>{"a", "b"}, "|"), "[a|b]");
  EXPECT_EQ(list_text(std::vector<int>{}), "[]");
}

TEST(Cat, JsonQuoteReadsBack) {
  const std::string text = "a \"b\" \\ \n\t\x01 \u00e9";
  EXPECT_EQ(nlohmann::json::parse(json_quote(text)).get<std::string>(), text);
  EXPECT_EQ(json_quote("\xff"), "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace cupel
