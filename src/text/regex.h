// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "text/function_ref.h"

namespace cupel::text {

/// A regular expression in Oniguruma's Ruby syntax (what tokenizer files use), run by PCRE2.
/// Constructs on which the two differ are translated or refused by name (Fault::data). Immutable,
/// thread-safe.
class Regex {
 public:
  explicit Regex(const std::string& pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  using Found = FunctionRef<void(std::size_t start, std::size_t end)>;
  /// Calls `found` for each match in valid UTF-8 `text`, from left to right. Fault::data if the
  /// pattern needs more steps than the limit.
  void each(std::string_view text, Found found) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The pattern in PCRE2's syntax.
std::string onig_to_pcre(const std::string& pattern);

}  // namespace cupel::text
