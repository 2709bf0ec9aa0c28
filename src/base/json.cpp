// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <nlohmann/json.hpp>

#include "base/cat.h"

namespace cupel {

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cupel
