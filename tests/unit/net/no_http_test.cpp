// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Built where Boost's headers were not found.
#include <gtest/gtest.h>

#include "base/error.h"
#include "net/client.h"

namespace cupel::net {
namespace {

TEST(HttpClient, SaysThatItWasNotBuiltIn) {
  try {
    HttpClient client(parse_url("http://localhost:8000"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::environment);
    EXPECT_NE(e.message().find("libboost-dev"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace cupel::net
