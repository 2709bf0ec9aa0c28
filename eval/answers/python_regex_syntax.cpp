// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cctype>

#include "base/error.h"
#include "eval/answers/python_regex.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

// Where Python's syntax and PCRE2's differ:
//   \w \b \s \d   Python's own sets, whatever version of PCRE2: spelled out
//   \Z            the very end: \z.   \v \a \u \U \0 and octal: characters
//   {,n}          0 to n.   {x}: literal braces
//   [[:alpha:]]   a class of the characters [ : a l p h
//   (?i) at the start, (?i:...) the same; (?a) (?L) (?x) refused
//   (?<n>...) (*VERB) \h \K \Q ... are errors in Python
constexpr const char* kWord = "\\p{L}\\p{N}_";
constexpr const char* kSpace =
    "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"
    "\\x{202f}\\x{205f}\\x{3000}";

std::string hex(char32_t c) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string digits;
  do digits.insert(digits.begin(), kDigits[c & 15]);
  while (c >>= 4);
  return "\\x{" + digits + "}";
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

class Translator {
 public:
  Translator(const std::string& pattern, unsigned& flags) : p_(pattern), flags_(flags) {
    if (text::utf8_valid_prefix(p_) != p_.size()) refuse("a byte that is not UTF-8");
  }

  std::string run() {
    while (at_ < p_.size()) {
      const char c = p_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '[') {
        ++at_;
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        brace();
      } else {
        out_ += c;
        ++at_;
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Fault::user, "pattern '", p_, "': ", what, " is not supported in a Python pattern");
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < p_.size() ? p_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view s) const { return p_.compare(at_, s.size(), s) == 0; }

  char32_t hex_digits(std::size_t count) {
    char32_t value = 0;
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      const auto c = static_cast<unsigned char>(peek());
      if (!std::isxdigit(c)) refuse("an incomplete escape");
      value = value * 16 + (std::isdigit(c) ? c - '0' : (std::tolower(c) - 'a') + 10);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) refuse(cat("character ", value));
    return value;
  }

  char32_t octal_digits(std::size_t most) {
    char32_t value = 0;
    for (std::size_t i = 0; i < most && is_octal(peek()); ++i)
      value = value * 8 + (p_[at_++] - '0');
    if (value > 0377) refuse("an octal escape above \\377");
    return value;
  }

  // The character of an escape whose letter is at `at_` and means the same everywhere.
  char32_t escaped_character() {
    const char c = peek();
    if (static_cast<unsigned char>(c) >= 0x80) return text::utf8_next(p_, at_);
    ++at_;
    switch (c) {
      case 'a':
        return 7;
      case 'f':
        return 12;
      case 'n':
        return 10;
      case 'r':
        return 13;
      case 't':
        return 9;
      case 'v':
        return 11;
      case 'x':
        return hex_digits(2);
      case 'u':
        return hex_digits(4);
      case 'U':
        return hex_digits(8);
      default:
        if (std::isalpha(static_cast<unsigned char>(c))) refuse(cat("\\", c));
        return static_cast<unsigned char>(c);
    }
  }

  void escape() {
    if (++at_ >= p_.size()) refuse("a backslash at the end");
    const char c = peek();
    const std::string word = cat("[", kWord, "]");
    const std::string boundary = cat("(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, ")");
    const auto put = [&](const std::string& s) {
      out_ += s;
      ++at_;
    };
    if (std::isdigit(static_cast<unsigned char>(c))) return reference_or_octal();
    if (c == 'A') return put("\\A");
    if (c == 'Z') return put("\\z");
    if (c == 'b') return put(cat("(?:", boundary, ")"));
    if (c == 'B') return put(cat("(?:(?!\\A\\z)(?!", boundary, "))"));
    if (c == 'd') return put("\\p{Nd}");
    if (c == 'D') return put("\\P{Nd}");
    if (c == 'w') return put(word);
    if (c == 'W') return put(cat("[^", kWord, "]"));
    if (c == 's') return put(cat("[", kSpace, "]"));
    if (c == 'S') return put(cat("[^", kSpace, "]"));
    out_ += hex(escaped_character());
  }

  void reference_or_octal() {
    if (peek() == '0') {
      out_ += hex(octal_digits(3));
    } else if (is_octal(peek()) && is_octal(peek(1)) && is_octal(peek(2))) {
      out_ += hex(octal_digits(3));
    } else {
      std::string number(1, p_[at_++]);
      if (std::isdigit(static_cast<unsigned char>(peek()))) number += p_[at_++];
      out_ += cat("\\g{", number, "}");
    }
  }

  // One item of a class: its character, or 0x110000 when it is a set, which goes to `sets`.
  char32_t class_item(std::string& body, std::vector<std::string>& negative) {
    if (peek() != '\\') return text::utf8_next(p_, at_);
    if (++at_ >= p_.size()) refuse("a class without its end");
    const char c = peek();
    if (c == 'b') return ++at_, 8;
    if (std::isdigit(static_cast<unsigned char>(c))) {
      if (!is_octal(c)) refuse(cat("\\", c, " in a class"));
      return octal_digits(3);
    }
    if (c == 'd') body += "\\p{Nd}";
    if (c == 'D') body += "\\P{Nd}";
    if (c == 'w') body += kWord;
    if (c == 's') body += kSpace;
    if (c == 'W') negative.push_back(cat("[^", kWord, "]"));
    if (c == 'S') negative.push_back(cat("[^", kSpace, "]"));
    if (c != '\0' && std::string_view("dDwWsS").find(c) != std::string_view::npos)
      return ++at_, kSet;
    return escaped_character();
  }

  void character_class() {
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::string body;
    std::vector<std::string> negative;  // sets that a class of PCRE2 cannot hold: alternatives
    for (bool first = true; first || peek() != ']'; first = false) {
      if (at_ >= p_.size()) refuse("a class without its end");
      const char32_t low = class_item(body, negative);
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < p_.size()) {
        ++at_;
        const char32_t high = class_item(body, negative);
        if (low == kSet || high == kSet || high < low) refuse("a range in a class that is not one");
        body += cat(hex(low), "-", hex(high));
      } else if (low != kSet) {
        body += hex(low);
      }
    }
    ++at_;
    if (negative.empty()) {
      out_ += cat(negated ? "[^" : "[", body, "]");
      return;
    }
    std::string any = body.empty() ? "" : cat("[", body, "]|");
    any += joined(negative, "|");
    out_ += negated ? cat("(?:(?!", any, ")(?s:.))") : cat("(?:", any, ")");
  }

  void group() {
    if (peek(1) == '*') refuse("'(*'");
    if (peek(1) != '?') return copy(1);
    const char kind = peek(2);
    if (starts("(?#")) {
      const auto end = p_.find(')', at_);
      if (end == std::string::npos) refuse("a comment without its end");
      at_ = end + 1;
    } else if (kind == ':' || kind == '=' || kind == '!' || kind == '>' || starts("(?<=") ||
               starts("(?<!")) {
      copy(kind == '<' ? 4 : 3);
    } else if (starts("(?P<") || starts("(?P=") || starts("(?(")) {
      const auto end = p_.find(starts("(?P<") ? '>' : ')', at_);
      if (end == std::string::npos) refuse("a group name without its end");
      copy(end + 1 - at_);
    } else {
      flag_group();
    }
  }

  void copy(std::size_t count) {
    out_ += p_.substr(at_, count);
    at_ += count;
  }

  // (?flags) at the start, (?flags-flags:...) anywhere.
  void flag_group() {
    const auto end = p_.find_first_not_of("aiLmsux-", at_ + 2);
    const std::string given = p_.substr(at_, end == std::string::npos ? end : end + 1 - at_);
    if (end == std::string::npos || (p_[end] != ':' && p_[end] != ')') || given.size() == 3)
      refuse(cat("'", given, "'"));
    std::string kept;
    for (const char c : p_.substr(at_ + 2, end - at_ - 2)) {
      if (c == 'a' || c == 'L' || c == 'x') refuse(cat("flag '", c, "'"));
      if (c != 'u') kept += c;
    }
    if (p_[end] == ':') {
      out_ += cat("(?", kept, ":");
    } else {
      if (at_ != 0 || kept.find('-') != std::string::npos)
        refuse(cat("'", given, "' other than at the start"));
      for (const char c : kept)
        flags_ |= c == 'i'   ? PythonRegex::ignore_case
                  : c == 'm' ? PythonRegex::multiline
                             : PythonRegex::dot_all;
    }
    at_ = end + 1;
  }

  // {n} {n,} {,m} {n,m} repeat; any other brace is itself.
  void brace() {
    std::size_t i = at_ + 1;
    const auto digits = [&] {
      const std::size_t start = i;
      while (i < p_.size() && std::isdigit(static_cast<unsigned char>(p_[i]))) ++i;
      return p_.substr(start, i - start);
    };
    const std::string low = digits();
    const bool comma = i < p_.size() && p_[i] == ',';
    if (comma) ++i;
    const std::string high = comma ? digits() : low;
    if (i >= p_.size() || p_[i] != '}' || (low.empty() && !comma)) {
      out_ += "\\{";
      ++at_;
      return;
    }
    out_ += cat("{", low.empty() ? "0" : low, comma ? "," : "", comma ? high : "", "}");
    at_ = i + 1;
  }

  static constexpr char32_t kSet = 0x110000;
  const std::string& p_;
  unsigned& flags_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string python_to_pcre(const std::string& pattern, unsigned& flags) {
  return Translator(pattern, flags).run();
}

}  // namespace cupel::eval
