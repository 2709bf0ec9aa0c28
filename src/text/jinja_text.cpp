// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// str() and repr() as Python has them.

#include <charconv>
#include <cmath>

#include "text/jinja_value.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

void append_hex(std::string& out, const char* prefix, char32_t c, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[c >> shift & 15];
}

bool printable(char32_t c) {
  const Category k = category(c);
  return k.major != 'C' && (k.major != 'Z' || c == ' ');
}

std::string quoted(const std::string& s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t start = pos;
    const char32_t c = utf8_next(s, pos);
    if (c == static_cast<unsigned char>(quote) || c == '\\')
      out.append(1, '\\').append(1, static_cast<char>(c));
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (printable(c))
      out.append(s, start, pos - start);
    else if (c < 0x100)
      append_hex(out, "\\x", c, 2);
    else if (c < 0x10000)
      append_hex(out, "\\u", c, 4);
    else
      append_hex(out, "\\U", c, 8);
  }
  return out += quote;
}

void append_repr(std::string& out, const Value& v);

void append_items(std::string& out, const List& l) {
  for (std::size_t i = 0; i < l.items.size(); ++i) {
    if (i) out += ", ";
    append_repr(out, l.items[i]);
  }
}

void append_list(std::string& out, const List& l) {
  switch (l.flavor) {
    case Flavor::list:
      out += '[';
      append_items(out, l);
      out += ']';
      return;
    case Flavor::tuple:
    case Flavor::group:
      out += '(';
      append_items(out, l);
      out += l.items.size() == 1 ? ",)" : ")";
      return;
    case Flavor::range: {
      const int64_t first = l.items.empty() ? 0 : l.items[0].as_integer();
      const int64_t step = l.items.size() < 2 ? 1 : l.items[1].as_integer() - first;
      out += cat("range(", first, ", ", l.stop);
      out += step == 1 ? ")" : cat(", ", step, ")");
      return;
    }
    case Flavor::generator:
      raise("TypeError", "a generator has no text: use the filter 'list' or 'join'");
    default:
      break;
  }
  out += l.flavor == Flavor::keys     ? "dict_keys(["
         : l.flavor == Flavor::values ? "dict_values(["
                                      : "dict_items([";
  append_items(out, l);
  out += "])";
}

void append_repr(std::string& out, const Value& v) {
  spend(1);
  if (v.is_string()) {
    out += v.is_markup() ? cat("Markup(", quoted(v.as_string()), ")") : quoted(v.as_string());
  } else if (v.is_list()) {
    append_list(out, v.as_list());
  } else if (v.is_dict()) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : v.as_dict().items) {
      if (!first) out += ", ";
      first = false;
      append_repr(out, key);
      out += ": ";
      append_repr(out, value);
    }
    out += '}';
  } else {
    out += v.is_undefined() ? "Undefined" : to_text(v);
  }
}

}  // namespace

std::string float_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string s(buffer, end);
  const auto e = s.find('e');
  const int exponent = std::stoi(s.substr(e + 1));
  if (exponent < -4 || exponent >= 16)
    return s;  // to_chars writes the exponent with two digits, as Python does
  const auto fixed_end =
      std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr;
  s.assign(buffer, fixed_end);
  return s.find('.') == s.npos ? s + ".0" : s;
}

std::string representation(const Value& v) {
  std::string out;
  append_repr(out, v);
  return out;
}

std::string to_text(const Value& v) {
  if (v.is_string()) return v.as_string();
  if (v.is_undefined()) return "";
  if (v.is_none()) return "None";
  if (v.is_boolean()) return v.as_integer() ? "True" : "False";
  if (v.is_integer()) return cat(v.as_integer());
  if (v.is_big()) return v.as_digits();
  if (v.is_float()) return float_text(v.as_double());
  if (v.is_object()) return v.as_object().text();
  return representation(v);
}

}  // namespace cupel::text::jinja
