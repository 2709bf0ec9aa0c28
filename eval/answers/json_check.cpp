// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/json_check.h"

#include <cctype>

namespace cupel::eval {
namespace {

constexpr int kMaxDepth = 990;             // Python gives up at about this depth
constexpr std::size_t kMaxDigits = 4'300;  // sys.get_int_max_str_digits()

class Reader {
 public:
  explicit Reader(std::string_view s) : s_(s) {}

  bool whole() {
    blanks();
    if (!value(0)) return false;
    blanks();
    return at_ == s_.size();
  }

 private:
  char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (s_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (at_ < s_.size() && std::string_view(" \t\n\r").find(s_[at_]) != std::string_view::npos)
      ++at_;
  }
  std::size_t digits() {
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - start;
  }

  bool value(int depth) {
    if (depth > kMaxDepth) return false;
    switch (peek()) {
      case '"':
        return string();
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case 't':
        return take("true");
      case 'f':
        return take("false");
      case 'n':
        return take("null");
      case 'N':
        return take("NaN");
      case 'I':
        return take("Infinity");
      default:
        return take("-Infinity") || number();
    }
  }

  bool number() {
    take('-');
    const std::size_t start = at_;
    if (!take('0') && digits() == 0) return false;
    const std::size_t integer = at_ - start;
    bool whole = true;
    const auto part = [&](auto mark) {  // what follows the mark only counts with digits
      const std::size_t before = at_;
      if (mark() && digits() > 0)
        whole = false;
      else
        at_ = before;
    };
    part([&] { return take('.'); });
    part([&] {
      if (!take('e') && !take('E')) return false;
      if (!take('+')) take('-');
      return true;
    });
    return !whole || integer <= kMaxDigits;
  }

  bool string() {
    ++at_;
    while (at_ < s_.size()) {
      const char c = s_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') continue;
      const char escape = peek();
      ++at_;
      if (escape == 'u') {
        for (int i = 0; i < 4; ++i, ++at_)
          if (!std::isxdigit(static_cast<unsigned char>(peek()))) return false;
      } else if (escape == '\0' ||
                 std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }

  bool object(int depth) {
    ++at_;
    blanks();
    if (take('}')) return true;
    for (;;) {
      if (peek() != '"' || !string()) return false;
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!value(depth + 1)) return false;
      blanks();
      if (take('}')) return true;
      if (!take(',')) return false;
      blanks();
    }
  }

  bool array(int depth) {
    ++at_;
    blanks();
    if (take(']')) return true;
    for (;;) {
      if (!value(depth + 1)) return false;
      blanks();
      if (take(']')) return true;
      if (!take(',')) return false;
      blanks();
    }
  }

  std::string_view s_;
  std::size_t at_ = 0;
};

}  // namespace

bool python_loads(std::string_view text) {
  return Reader(text).whole();
}

}  // namespace cupel::eval
