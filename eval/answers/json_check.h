// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string_view>

namespace cupel::eval {

/// Whether Python's json.loads takes the text: RFC 8259 and also NaN, Infinity, -Infinity, lone
/// surrogate escapes; no byte order mark, no raw control characters in strings, no integer of more
/// than 4300 digits, no nesting deeper than 990.
bool python_loads(std::string_view text);

}  // namespace cupel::eval
