// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/stop_matcher.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace cupel::runtime {
namespace {

std::string run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  std::string out;
  for (const auto& piece : pieces) out += matcher.push(piece);
  return out + matcher.finish();
}

TEST(StopMatcher, PassesTextThrough) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.push("abc"), "abc");
  EXPECT_EQ(matcher.finish(), "");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, FindsAStopAcrossPieces) {
  EXPECT_EQ(run({"DEFGHIJ"}, {"ABC", "DEF", "G", "HI", "J"}), "ABC");
  EXPECT_EQ(run({"\nUser:"}, {"hello", "\n", "Us", "er", ":", " more"}), "hello");
}

TEST(StopMatcher, HoldsOnlyWhatCouldBeAStop) {
  StopMatcher matcher({"\nUser:"});
  EXPECT_EQ(matcher.push("hello\nUs"), "hello");
  EXPECT_EQ(matcher.push("eful"), "\nUseful");
}

TEST(StopMatcher, GivesHeldTextBackAtTheEnd) {
  EXPECT_EQ(run({"END"}, {"the E", "N"}), "the EN");
}

TEST(StopMatcher, NothingFollowsAStop) {
  StopMatcher matcher({"x"});
  EXPECT_EQ(matcher.push("ax b"), "a");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, TheStopThatIsCompleteFirstCounts) {
  EXPECT_EQ(run({"abcd", "bc"}, {"xabcd"}), "xa");
  EXPECT_EQ(run({"bc", "abc"}, {"xabc"}), "x");
}

TEST(StopMatcher, RepeatedPrefix) {
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b"}), "a");
}

TEST(StopMatcher, RefusesAnEmptyStop) {
  EXPECT_THROW(StopMatcher({"a", ""}), Error);
}

// Over a small alphabet stops overlap and nest in every way.
TEST(StopMatcher, CuttingDoesNotChangeTheResult) {
  Rng rng(1, "stops");
  for (int trial = 0; trial < 3000; ++trial) {
    const auto word = [&](uint64_t most) {
      std::string text;
      for (uint64_t n = 1 + rng.below(most); n > 0; --n)
        text += static_cast<char>('a' + rng.below(2));
      return text;
    };
    std::vector<std::string> stops;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) stops.push_back(word(5));
    const std::string text = word(20);
    std::vector<std::string> pieces, bytes;
    for (std::size_t at = 0; at < text.size();) {
      const auto n = std::min<std::size_t>(1 + rng.below(6), text.size() - at);
      pieces.push_back(text.substr(at, n));
      at += n;
    }
    for (const char c : text) bytes.emplace_back(1, c);
    EXPECT_EQ(run(stops, pieces), run(stops, bytes)) << text;
    EXPECT_EQ(run(stops, {text}), run(stops, bytes)) << text;
  }
}

}  // namespace
}  // namespace cupel::runtime
