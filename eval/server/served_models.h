// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/client.h"

namespace cupel::eval {

/// "http://host:port/v1#name", taken apart. "/v1" where there is no path; a path that ends in
/// "/completions", as lm-eval has it, names the same server.
struct ServerAddress {
  net::Url url;
  std::string name;  ///< "" when it was not given
};
/// Fault::user for what is no such address.
ServerAddress parse_server_address(const std::string& text);

struct ServedModel {
  std::string name;
  int64_t positions = 0;  ///< of prompt and answer together; 0 where the server does not say
};

/// What /models lists; nothing from a server without that page.
std::vector<ServedModel> served_models(net::HttpClient& client);

/// The model of that name, or the only one where the name is "". Fault::user when there is none,
/// with the names that there are.
ServedModel choose_model(const std::vector<ServedModel>& models, const ServerAddress& address);

}  // namespace cupel::eval
