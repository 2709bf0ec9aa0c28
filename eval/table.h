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
  std::string html() const;
};

}  // namespace cupel::eval
