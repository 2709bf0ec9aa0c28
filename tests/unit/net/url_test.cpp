// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "net/url.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cupel::net {
namespace {

TEST(Url, HasHostPortAndPath) {
  const Url u = parse_url("http://localhost:8000/v1/");
  EXPECT_EQ(u.host, "localhost");
  EXPECT_EQ(u.port, 8000);
  EXPECT_EQ(u.path, "/v1");
  EXPECT_EQ(u.text(), "http://localhost:8000/v1");
}

TEST(Url, PortAndPathMayBeMissing) {
  const Url u = parse_url("http://example.org");
  EXPECT_EQ(u.port, 80);
  EXPECT_EQ(u.path, "");
}

TEST(Url, TakesIpv6) {
  const Url u = parse_url("http://[::1]:8080/a/b");
  EXPECT_EQ(u.host, "::1");
  EXPECT_EQ(u.origin(), "[::1]:8080");
  EXPECT_EQ(u.path, "/a/b");
}

TEST(Url, KnowsWhatIsMeantAsOne) {
  EXPECT_TRUE(is_url("http://x"));
  EXPECT_TRUE(is_url("https://x"));
  EXPECT_FALSE(is_url("models/http"));
  EXPECT_FALSE(is_url("http.gguf"));
}

TEST(Url, BadOnesAreNamed) {
  for (const char* bad :
       {"ftp://x", "x:80", "http://", "http://:80", "http://x:0", "http://x:65536", "http://x:8o",
        "http://x:", "http://a b", "http://user@x", "http://x/?q", "http://[::1", "http://[::1]8",
        "http://x/\r\nHost: y", "https://x:8000/v1"})
    try {
      parse_url(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::user);
      EXPECT_NE(e.message().find(bad), std::string::npos) << e.message();
    }
}

}  // namespace
}  // namespace cupel::net
