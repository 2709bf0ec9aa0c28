// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/function_ref.h"

namespace cupel::eval {

/// A regular expression with the meaning that Python's `re` gives it, run by PCRE2: task files and
/// the checkers of Python harnesses are written in it. Constructs that PCRE2 reads otherwise are
/// translated; what cannot be expressed (the flags a, L and x, \N{...}) is refused by name, as is
/// what Python itself refuses. One difference is left: ignoring case, Python holds U+0130 and
/// U+0131 equal to i, PCRE2 does not. Immutable, thread-safe. text::Regex, by contrast, reads
/// Ruby's syntax.
class PythonRegex {
 public:
  enum Flag : unsigned { none = 0, ignore_case = 1, multiline = 2, dot_all = 4 };

  /// Fault::user with the pattern and the reason if it is not valid.
  explicit PythonRegex(const std::string& pattern, unsigned flags = none);
  PythonRegex(PythonRegex&&) noexcept;
  PythonRegex& operator=(PythonRegex&&) noexcept;
  ~PythonRegex();

  /// Bytes [start, end) of the text; start is npos for a group that took no part.
  struct Span {
    std::size_t start = std::string_view::npos, end = std::string_view::npos;
    bool set() const { return start != std::string_view::npos; }
    std::string_view of(std::string_view text) const {
      return set() ? text.substr(start, end - start) : std::string_view();
    }
  };
  /// Group 0 is the whole match.
  using Match = std::vector<Span>;
  using Found = text::FunctionRef<void(const Match&)>;

  // The text is valid UTF-8. Fault::data if a pattern needs more steps than the limit.

  /// re.search(...) is not None.
  bool search(std::string_view text) const;
  /// re.match at byte `offset`; empty if it does not match there.
  Match match_at(std::string_view text, std::size_t offset) const;
  /// re.finditer.
  void each(std::string_view text, Found found) const;
  /// len(re.findall(...)).
  std::size_t count(std::string_view text) const;
  /// re.sub; `by` is text with \1..\9 and \g<0>.
  std::string replace(std::string_view text, std::string_view by) const;
  /// re.split of a pattern without groups.
  std::vector<std::string_view> split(std::string_view text) const;
  /// Number of groups beside the whole match.
  std::size_t groups() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The pattern in PCRE2's syntax, and the flags that it starts with.
std::string python_to_pcre(const std::string& pattern, unsigned& flags);

}  // namespace cupel::eval
