// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/dataset.h"

#include <gtest/gtest.h>

#include "support.h"

namespace cupel::text {
namespace {

TEST(Dataset, CutsConsecutiveBlocks) {
  const auto t = test::tokenizer({});
  const auto blocks = token_blocks(*t, "abcdefgh", 0, 3, "data");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1], t->encode("def"));
  EXPECT_EQ(token_blocks(*t, "abcdefgh", 1, 3, "data").size(), 1u);
}

TEST(Dataset, SaysHowMuchThereIs) {
  const auto t = test::tokenizer({});
  const Error e = test::error_of([&] { token_blocks(*t, "abcdefgh", 4, 3, "calibration"); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(),
            "calibration: 4 samples of 3 tokens need 12 tokens, but the text has 8 (2 samples)");
  EXPECT_EQ(test::error_of([&] { token_blocks(*t, "ab", 0, 3, "x"); }).fault(), Fault::user);
}

}  // namespace
}  // namespace cupel::text
