// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/http.h"
#include "net/url.h"

namespace cupel::net {

/// What went wrong below HTTP.
enum class Trouble {
  none,
  unreachable,  ///< no such host, or nobody listens
  dropped,      ///< the other side closed or reset the connection
  timeout,
  garbled,  ///< what came is not HTTP, or larger than allowed
};

struct Exchange {
  Trouble trouble = Trouble::none;
  std::string reason;  ///< the system's words for it
  HttpResponse response;
};

struct ConnectionLimits {
  double connect_seconds = 10;
  double answer_seconds = 600;
  int64_t body_bytes = int64_t{256} << 20;
};

/// One TCP connection that speaks HTTP/1.1: opened by the first exchange, kept for the next one
/// where the server allows that, opened again when it was closed. Not thread-safe.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual Exchange exchange(const HttpRequest& request) = 0;
  /// True when the next exchange goes over a connection that has served one before.
  virtual bool is_used() const = 0;
};

/// Fault::environment when the program was built without Boost.
std::unique_ptr<Connection> make_connection(const Url& url, const ConnectionLimits& limits);

}  // namespace cupel::net
