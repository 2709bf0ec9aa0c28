// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"

#include <stdexcept>

#include "support.h"

namespace cupel {
namespace {

using test::error_of;

TEST(Error, MessageAndTrail) {
  const Error e = error_of([] {
    in_frame("quantizing layers.3", [] {
      in_frame("reading 'w'", [] { fail(Fault::data, "'w': expected ", 3, " rows, found ", 4); });
    });
  });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(), "'w': expected 3 rows, found 4");
  EXPECT_STREQ(e.what(),
               "'w': expected 3 rows, found 4\n  while reading 'w'\n  while quantizing layers.3");
  EXPECT_EQ(e.trail(), (std::vector<std::string>{"reading 'w'", "quantizing layers.3"}));
}

TEST(Error, ForeignExceptionsBecomeInternal) {
  const Error e =
      error_of([] { in_frame("loading", [] { throw std::runtime_error("unexpected"); }); });
  EXPECT_EQ(e.fault(), Fault::internal);
  EXPECT_STREQ(e.what(), "unexpected\n  while loading");
}

TEST(Error, InFrameReturnsValuesAndReferences) {
  int value = 3;
  int& reference = in_frame("x", [&]() { return std::ref(value); }).get();
  EXPECT_EQ(&reference, &value);
  EXPECT_EQ(in_frame("x", [] { return 4; }), 4);
}

TEST(Error, Checks) {
  EXPECT_NO_THROW(CUPEL_CHECK(true, user, "never"));
  EXPECT_EQ(error_of([] { CUPEL_CHECK(1 > 2, environment, "no ", "memory"); }).fault(),
            Fault::environment);
  const Error e = error_of([] { CUPEL_ASSERT(1 > 2); });
  EXPECT_EQ(e.fault(), Fault::internal);
  EXPECT_NE(e.message().find("1 > 2"), std::string::npos);
  EXPECT_NE(e.message().find("error_test.cpp:"), std::string::npos);
}

TEST(Error, CheckedArithmetic) {
  const std::size_t big = std::size_t{1} << 40;
  EXPECT_EQ(checked_mul(big, 3, "t"), big * 3);
  EXPECT_EQ(checked_add(big, 3, "t"), big + 3);
  EXPECT_EQ(error_of([&] { checked_mul(big, big, "tensor 'w'"); }).fault(), Fault::data);
  const Error e = error_of([&] { checked_add(~std::size_t{0}, 1, "tensor 'w'"); });
  EXPECT_EQ(e.message().find("tensor 'w'"), 0u);
}

}  // namespace
}  // namespace cupel
