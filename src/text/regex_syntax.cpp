// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cctype>

#include "base/error.h"
#include "text/regex.h"

namespace cupel::text {
namespace {

// Where Ruby's syntax and PCRE2's differ:
//   \w           Ruby counts marks and letter numbers, PCRE2 other numbers
//   X{n,m}+      a repeated repeat in Ruby, possessive in PCRE2
//   \h \b \B (?m) [a[b]] [a&&b]  mean other things; no tokenizer is known to need them
constexpr const char* kWord = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";

class Translator {
 public:
  explicit Translator(const std::string& pattern) : p_(pattern) {}

  std::string run() {
    while (at_ < p_.size()) {
      const char c = p_[at_];
      if (c == '\\') {
        escape();
      } else if (class_) {
        in_class(c);
      } else {
        outside(c);
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Fault::data, "tokenizer: pattern '", p_, "': ", what, " is not supported");
  }

  void escape() {
    if (at_ + 1 >= p_.size()) refuse("a backslash at the end");
    const char c = p_[at_ + 1];
    at_ += 2;
    if (c == 'w') {
      out_ += class_ ? std::string(kWord) : cat("[", kWord, "]");
    } else if (c == 'W' && !class_) {
      out_ += cat("[^", kWord, "]");
    } else if (c == 'h' || c == 'H' || c == 'b' || c == 'B' || c == 'W' || c == 'y' || c == 'K') {
      refuse(cat("\\", c));
    } else {
      out_ += '\\';
      out_ += c;
    }
  }

  void in_class(char c) {
    if (c == '[' && at_ + 1 < p_.size() && p_[at_ + 1] == ':') {
      const auto end = p_.find(":]", at_);
      if (end == std::string::npos) refuse("'[:'");
      out_ += p_.substr(at_, end + 2 - at_);
      at_ = end + 2;
      return;
    }
    if (c == '[') refuse("a class inside a class");
    if (c == '&' && p_.compare(at_, 2, "&&") == 0) refuse("'&&' in a class");
    if (c == ']') class_ = false;
    out_ += c;
    ++at_;
  }

  void outside(char c) {
    if (c == '[') {
      class_ = true;
      out_ += c;
      if (p_.compare(++at_, 1, "^") == 0) out_ += p_[at_++];
      return;
    }
    if (c == '(' && p_.compare(at_, 2, "(?") == 0) {
      const auto end = p_.find_first_not_of("imx-", at_ + 2);
      if (end != std::string::npos && p_[end] != '<' &&
          p_.substr(at_, end - at_).find('m') != std::string::npos)
        refuse("(?m)");
    }
    if (c == '{' && repeated_repeat()) return;
    out_ += c;
    ++at_;
  }

  // {1,m}+ is + alone; other repeats of a repeat are refused.
  bool repeated_repeat() {
    const auto close = p_.find('}', at_);
    if (close == std::string::npos || close + 1 >= p_.size() || p_[close + 1] != '+') return false;
    const std::string body = p_.substr(at_ + 1, close - at_ - 1);
    if (body.empty() || !std::isdigit(static_cast<unsigned char>(body[0]))) return false;
    if (body.rfind("1,", 0) != 0) refuse(cat("'{", body, "}+'"));
    out_ += '+';
    at_ = close + 2;
    return true;
  }

  const std::string& p_;
  std::string out_;
  std::size_t at_ = 0;
  bool class_ = false;
};

}  // namespace

std::string onig_to_pcre(const std::string& pattern) {
  return Translator(pattern).run();
}

}  // namespace cupel::text
