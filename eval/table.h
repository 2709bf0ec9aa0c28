// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::eval {

/// Cells of text; numbers align right. The same data renders for a terminal, Markdown and HTML.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string text() const;
  std::string markdown() const;
  /// In a box of its own that scrolls; `css_class` is the box's second class.
  std::string html(const std::string& css_class = "") const;
};

}  // namespace cupel::eval
