// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::net {

/// Where a server listens, and a path on it.
struct Url {
  std::string host;  ///< a name, an IPv4 address, or an IPv6 address without its brackets
  uint16_t port = 80;
  std::string path;  ///< "" or "/v1": no slash at the end, no query

  /// "host:port", as the Host header and messages have it.
  std::string origin() const;
  std::string text() const;
};

/// True for what is meant as an address on the web rather than a path: "http://...", "https://...".
bool is_url(std::string_view text);

/// "http://host[:port][/path]". Fault::user names what is wrong; https is not spoken here.
Url parse_url(std::string_view text);

}  // namespace cupel::net
