// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include "base/yaml.h"

namespace cupel {
namespace {

TEST(NearestName, FindsSlips) {
  const std::vector<std::string> names = {"bits", "group", "damp", "order", "block-influence"};
  EXPECT_EQ(nearest_name("bit", names), "bits");
  EXPECT_EQ(nearest_name("gruop", names), "group");
  EXPECT_EQ(nearest_name("Order", names), "order");
  EXPECT_EQ(nearest_name("block_influence", names), "block-influence");
  EXPECT_EQ(nearest_name("dampening", names), "damp");
  EXPECT_EQ(nearest_name("block", names), "block-influence");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("temperature", {"bits", "group"}), "");
  EXPECT_EQ(nearest_name("a", {"b", "c"}), "");
  EXPECT_EQ(nearest_name("", {"bits"}), "");
  EXPECT_EQ(nearest_name("bits", {}), "");
}

}  // namespace
}  // namespace cupel
