// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// One HTTP request. Host, Connection and Content-Length are filled in when it is sent.
struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  Headers headers;
  std::string body;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  /// The first header of that name in any case, "" when there is none.
  std::string_view header(std::string_view name) const;
};

/// What the body of an answer that is not ok says: the message of OpenAI's, FastAPI's or
/// llama.cpp's JSON, else the beginning of the text.
std::string error_text(const HttpResponse& response);

}  // namespace cupel::net
