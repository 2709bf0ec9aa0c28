// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::text {

/// The bytes that base64 `text` stands for; nothing if it is not base64. "=" at the end may lack.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace cupel::text
