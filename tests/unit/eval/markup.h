// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace cupel::test {

/// Fails unless the elements nest, attributes are quoted and text has no bare '<' or '&'.
inline void expect_well_formed(std::string_view text) {
  std::vector<std::string> open;
  while (!text.empty()) {
    const std::size_t tag = text.find('<');
    const std::string_view between = text.substr(0, tag);
    for (std::size_t at = between.find('&'); at != between.npos; at = between.find('&', at + 1))
      ASSERT_NE(between.substr(at, 6).find(';'), between.npos) << between;
    if (tag == text.npos) break;
    text.remove_prefix(tag + 1);
    std::size_t end = 0;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
      quoted ^= text[end] == '"';
      ASSERT_NE(text[end], '<');
    }
    ASSERT_LT(end, text.size()) << "an element does not end";
    const std::string_view inside = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string name(inside.substr(0, inside.find_first_of(" /", 1)));
    if (name[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), name.substr(1));
      open.pop_back();
    } else if (inside.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty()) << open.back() << " is left open";
}

/// Fails if a number in the text went wrong on its way.
inline void expect_finite(std::string_view text) {
  for (const char* bad : {"nan", "inf", "NaN", "Infinity"})
    EXPECT_EQ(text.find(bad), text.npos) << bad;
}

inline std::size_t count(std::string_view text, std::string_view piece) {
  std::size_t n = 0;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size()))
    ++n;
  return n;
}

}  // namespace cupel::test
