// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/part.h"
#include "text/regex.h"

namespace cupel::text {

/// The `{"String": ...}` or `{"Regex": ...}` of Split and Replace.
class Pattern {
 public:
  /// Reads the key "pattern" of `part`.
  explicit Pattern(const Part& part);
  /// Each match from left to right.
  void each(std::string_view text, Regex::Found found) const;
  /// The text with each match replaced.
  std::string replaced(std::string_view text, std::string_view with) const;

 private:
  std::string string_;
  std::optional<Regex> regex_;
};

}  // namespace cupel::text
