// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/pattern.h"

namespace cupel::text {

Pattern::Pattern(const Part& part) {
  const Part p = part.child("pattern");
  p.known({"String", "Regex"});
  if (p.has("Regex"))
    regex_.emplace(p.text("Regex"));
  else
    string_ = p.text("String");
  if (!regex_ && string_.empty()) p.refuse("the string is empty");
}

void Pattern::each(std::string_view text, Regex::Found found) const {
  if (regex_) return regex_->each(text, found);
  for (std::size_t at = text.find(string_); at != text.npos;
       at = text.find(string_, at + string_.size()))
    found(at, at + string_.size());
}

std::string Pattern::replaced(std::string_view text, std::string_view with) const {
  std::string out;
  std::size_t done = 0;
  each(text, [&](std::size_t start, std::size_t end) {
    out += text.substr(done, start - done);
    out += with;
    done = end;
  });
  out += text.substr(done);
  return out;
}

}  // namespace cupel::text
