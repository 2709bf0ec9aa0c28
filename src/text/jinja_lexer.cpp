// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Newlines become "\n" everywhere; one at the end of a chat template is dropped.
std::string with_plain_newlines(std::string_view source, Dialect dialect) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (dialect == Dialect::chat && !out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::size_t blank_start(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t before = utf8_before(text, end);
    std::size_t pos = before;
    if (!is_space(utf8_next(text, pos))) break;
    end = before;
  }
  return end;
}

class Lexer {
 public:
  Lexer(std::string_view source, Dialect dialect)
      : s_(with_plain_newlines(source, dialect)), trims_(dialect == Dialect::chat) {}

  std::vector<LexToken> run() {
    while (at_ < s_.size()) template_text();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  bool starts(std::string_view what) const { return s_.compare(at_, what.size(), what) == 0; }
  void advance(std::size_t n) {
    line_ += static_cast<int>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         s_.begin() + static_cast<std::ptrdiff_t>(at_ + n), '\n'));
    at_ += n;
  }
  void skip_blanks() {
    std::size_t n = 0;
    while (at_ + n < s_.size() && is_blank(s_[at_ + n])) ++n;
    advance(n);
  }
  char peek(std::size_t n = 0) const { return at_ + n < s_.size() ? s_[at_ + n] : '\0'; }

  // Text up to the next tag, and the tag's begin.
  void template_text() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == s_.npos || tag + 1 >= s_.size()) return data(s_.size(), '\0', true);
      if (s_[tag + 1] == '{' || s_[tag + 1] == '%' || s_[tag + 1] == '#') break;
    }
    const char kind = s_[tag + 1];
    const char sign =
        tag + 2 < s_.size() && (s_[tag + 2] == '-' || s_[tag + 2] == '+') ? s_[tag + 2] : '\0';
    data(tag, sign, kind == '{');
    const int line = line_;
    advance(sign ? 3 : 2);
    if (kind == '#') return comment(line);
    if (kind == '%' && raw_begin()) return raw(line);
    push(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    expression(kind == '{' ? "}}" : "%}", line);
  }

  // The text before a tag. lstrip_blocks: blanks between a line's start and a tag go, but not
  // before {{.
  void data(std::size_t end, char sign, bool keeps_indent) {
    const std::string_view text = std::string_view(s_).substr(at_, end - at_);
    std::string_view kept = text;
    if (sign == '-') {
      kept = text.substr(0, blank_start(text));
    } else if (trims_ && sign != '+' && !keeps_indent) {
      const std::size_t line_start = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line_start > 0 || line_starting_) && blank_start(text.substr(line_start)) == 0)
        kept = text.substr(0, line_start);
    }
    if (!kept.empty()) push(TokenKind::data, std::string(kept));
    advance(text.size());
  }

  // The end of a block, comment or raw: "-%}" takes the white space behind it, "%}" one newline.
  void finish_tag(char sign, std::size_t length) {
    advance(length);
    line_starting_ = false;
    if (sign == '-') {
      const std::size_t before = at_;
      while (at_ < s_.size()) {
        std::size_t pos = at_;
        if (!is_space(utf8_next(s_, pos))) break;
        advance(pos - at_);
      }
      line_starting_ = at_ > before && s_[at_ - 1] == '\n';
    } else if (trims_ && sign != '+' && peek() == '\n') {
      advance(1);
      line_starting_ = true;
    }
  }

  void comment(int line) {
    const std::size_t end = s_.find("#}", at_);
    if (end == s_.npos) syntax_error(line, "a comment does not end");
    const char sign = end > at_ && (s_[end - 1] == '-' || s_[end - 1] == '+') ? s_[end - 1] : '\0';
    finish_tag(sign, end + 2 - at_);
  }

  bool raw_begin() {
    const std::size_t start = at_;
    const int line = line_;
    skip_blanks();
    if (starts("raw") && !is_name(peek(3))) {
      advance(3);
      skip_blanks();
      if (starts("%}")) {  // no newline is trimmed here
        advance(2);
        line_starting_ = false;
        return true;
      }
      if (starts("-%}")) return finish_tag('-', 3), true;
    }
    at_ = start;
    line_ = line;
    return false;
  }

  void raw(int line) {
    for (std::size_t tag = at_; (tag = s_.find("{%", tag)) != s_.npos; ++tag) {
      std::size_t i = tag + 2;
      const char sign = i < s_.size() && (s_[i] == '-' || s_[i] == '+') ? s_[i++] : '\0';
      while (i < s_.size() && is_blank(s_[i])) ++i;
      if (s_.compare(i, 6, "endraw") != 0) continue;
      i += 6;
      while (i < s_.size() && is_blank(s_[i])) ++i;
      const char end_sign = i < s_.size() && (s_[i] == '-' || s_[i] == '+') ? s_[i++] : '\0';
      if (s_.compare(i, 2, "%}") != 0) continue;
      data(tag, sign, false);
      return finish_tag(end_sign, i + 2 - at_);
    }
    syntax_error(line, "'raw' does not end");
  }

  void expression(std::string_view closer, int line) {
    const TokenKind end_kind = closer == "}}" ? TokenKind::variable_end : TokenKind::block_end;
    std::string open;  // brackets that are not closed yet
    for (;;) {
      skip_blanks();
      if (at_ >= s_.size()) syntax_error(line, "a tag does not end with '", closer, "'");
      const bool signed_end = (peek() == '-' || (peek() == '+' && closer == "%}")) &&
                              s_.compare(at_ + 1, 2, closer) == 0;
      if (open.empty() && (signed_end || starts(closer))) {
        push(end_kind, "");
        return close(closer, signed_end ? peek() : '\0');
      }
      token(open);
    }
  }

  void close(std::string_view closer, char sign) {
    const std::size_t length = sign ? 3 : 2;
    if (closer == "%}" || sign == '-') return finish_tag(sign, length);
    advance(length);
    line_starting_ = false;
  }

  void token(std::string& open) {
    const char c = peek();
    if (c == '"' || c == '\'') return string(c);
    if (is_digit(c)) return number();
    if (is_name(c)) {
      std::size_t n = 1;
      while (is_name(peek(n))) ++n;
      push(TokenKind::name, s_.substr(at_, n));
      return advance(n);
    }
    op(open);
  }

  void op(std::string& open) {
    for (const char* two : {"//", "**", "==", "!=", ">=", "<="})
      if (starts(two)) return push(TokenKind::op, two), advance(2);
    const char c = peek();
    if (c == '\0' || std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos)
      syntax_error(line_, "unexpected character '", c, "'");
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) syntax_error(line_, "unexpected '", c, "'");
      open.pop_back();
    }
    push(TokenKind::op, std::string(1, c));
    advance(1);
  }

  std::size_t digits(std::size_t n) const {
    while (is_digit(peek(n)) || (peek(n) == '_' && is_digit(peek(n + 1)))) ++n;
    return n;
  }

  void number() {
    TokenKind kind = TokenKind::integer;
    std::size_t n = digits(0);
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'o' || peek(1) == 'b'))
      syntax_error(line_, "numbers to another base than ten are not supported");
    const bool after_dot = at_ > 0 && s_[at_ - 1] == '.';  // a.0.1 are two subscripts
    if (!after_dot && peek(n) == '.' && is_digit(peek(n + 1))) {
      n = digits(n + 1);
      kind = TokenKind::floating;
    }
    const bool sign = peek(n + 1) == '-' || peek(n + 1) == '+';
    if (!after_dot && (peek(n) == 'e' || peek(n) == 'E') && is_digit(peek(n + 1 + sign))) {
      n = digits(n + 1 + sign);
      kind = TokenKind::floating;
    }
    std::string text = s_.substr(at_, n);
    std::erase(text, '_');
    push(kind, text);
    advance(n);
  }

  void string(char quote) {
    std::size_t end = at_ + 1;
    while (end < s_.size() && s_[end] != quote) end += s_[end] == '\\' ? 2 : 1;
    if (end >= s_.size()) syntax_error(line_, "a string does not end");
    push(TokenKind::string, unescaped(std::string_view(s_).substr(at_ + 1, end - at_ - 1)));
    advance(end + 1 - at_);
  }

  // Python's escapes; an unknown one stays as it is.
  std::string unescaped(std::string_view raw) const {
    std::string out;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\' || i + 1 >= raw.size()) {
        out += raw[i];
        continue;
      }
      const char c = raw[++i];
      constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
      const auto simple = kFrom.find(c);
      if (simple != kFrom.npos) {
        out += kTo[simple];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        i += hex_escape(raw, i + 1, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
      } else if (c >= '0' && c <= '7') {
        char32_t value = 0;
        std::size_t n = 0;
        for (; n < 3 && i + n < raw.size() && raw[i + n] >= '0' && raw[i + n] <= '7'; ++n)
          value = value * 8 + static_cast<char32_t>(raw[i + n] - '0');
        utf8_append(out, value);
        i += n - 1;
      } else if (c != '\n') {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  std::size_t hex_escape(std::string_view raw, std::size_t at, std::size_t digits,
                         std::string& out) const {
    const auto read = [&](std::size_t from) -> char32_t {
      char32_t value = 0;
      for (std::size_t i = 0; i < digits; ++i) {
        const char c = from + i < raw.size() ? raw[from + i] : '\0';
        const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!is_digit(c) && !letter) syntax_error(line_, "a string has a broken escape");
        value = value * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
      }
      return value;
    };
    char32_t value = read(at);
    std::size_t used = digits;
    const bool high = value >= 0xD800 && value < 0xDC00;
    if (high && digits == 4 && raw.substr(at + 4, 2) == "\\u") {
      const char32_t low = read(at + 6);
      if (low >= 0xDC00 && low < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
        used = 10;
      }
    }
    if ((value >= 0xD800 && value < 0xE000) || value > 0x10FFFF)
      syntax_error(line_, "a string escapes half a character");
    utf8_append(out, value);
    return used;
  }

  std::string s_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool trims_;
  bool line_starting_ = true;
  std::vector<LexToken> tokens_;
};

}  // namespace

std::vector<LexToken> lex(std::string_view source, Dialect dialect) {
  if (utf8_valid_prefix(source) != source.size())
    fail(Fault::data, "template: the text is not valid UTF-8");
  return Lexer(source, dialect).run();
}

}  // namespace cupel::text::jinja
