// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>

#include "net/connection.h"
#include "net/http.h"
#include "net/url.h"

namespace cupel::net {

struct ClientOptions {
  ConnectionLimits limits;
  int retries = 5;  ///< further tries after 429, 502, 503, 504 and connections that were dropped
  double first_pause_seconds = 0.5;  ///< before the second try; it doubles from try to try
  double longest_pause_seconds = 30;
  Headers headers;  ///< of every request
};

/// Requests to one server over one connection, which stays open between them. Every request must be
/// safe to repeat. Not thread-safe: one client a thread.
class HttpClient {
 public:
  explicit HttpClient(Url url, ClientOptions options = {});

  /// `path` follows the address's own ("/models" asks for "/v1/models"). Any answer that is left
  /// when no further try would help is returned, whatever its status. Fault::environment names the
  /// host where there is none: nobody listens, a deadline passed, the connection keeps breaking.
  HttpResponse get(const std::string& path);
  HttpResponse post_json(const std::string& path, std::string body);

  /// Fault::environment with host, status and the server's message unless the answer is ok.
  void check_ok(const HttpResponse& response, const std::string& path) const;
  const Url& url() const { return url_; }

 private:
  HttpResponse send(HttpRequest request);
  Exchange once(const HttpRequest& request);
  void pause(int tries, const Exchange& last) const;
  [[noreturn]] void give_up(const Exchange& last, const HttpRequest& request, int tries) const;

  Url url_;
  ClientOptions options_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace cupel::net
