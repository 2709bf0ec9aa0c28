// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>

namespace cupel::eval {

/// Text made safe inside HTML elements and attributes; invalid UTF-8 becomes U+FFFD.
std::string escape_html(std::string_view text);
/// A whole page around `body`: inline style, light and dark, phone and print.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace cupel::eval
