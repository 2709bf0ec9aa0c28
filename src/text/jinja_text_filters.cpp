// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/jinja_filters.h"
#include "text/jinja_markup.h"
#include "text/jinja_operators.h"

namespace cupel::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

Value indent(Frame&, V v, A given) {
  const Bound a("indent", given, {"width", "first", "blank"});
  const Value width = a.get(0, 4);
  const std::string by =
      width.is_string() ? width.as_string() : to_text(multiply(Value(" "), width));
  const bool first = a.flag(1, false), blank = a.flag(2, false);
  const auto lines = split_lines(to_text(v) + "\n");
  check_size(static_cast<double>(lines.size()) * static_cast<double>(by.size() + 1));
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i) out += '\n';
    if (i ? blank || !lines[i].empty() : first) out += by;
    out += lines[i];
  }
  return marked_like(v, std::move(out));
}

// Jinja's own rule: words start behind white space, hyphens and opening brackets.
Value title(Frame&, V v, A) {
  std::string out;
  std::string word;
  const auto flush = [&] { out += capitalize_text(std::exchange(word, "")); };
  const std::string s = to_text(v);
  for (const auto c : characters(s)) {
    word += c;
    if (c.find_first_of("- \t\n\r\f\v({[<") != c.npos) flush();
  }
  flush();
  return Value(std::move(out));
}

// True if all of the text is a number of that kind, blanks around it aside.
template <class Number>
bool parse(const std::string& text, Number& out) {
  std::string s = strip_text(text, Side::both, nullptr);
  if (!s.empty() && s[0] == '+') s.erase(0, 1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  if constexpr (std::is_floating_point_v<Number>) {
    if (error == std::errc::result_out_of_range)
      out = std::strtod(s.c_str(), nullptr);  // infinity or zero
  }
  return (error == std::errc() || std::is_floating_point_v<Number>)&&end == s.data() + s.size() &&
         !s.empty();
}

Value to_int(Frame&, V v, A given) {
  const Bound a("int", given, {"default", "base"});
  if (a.integer(1, 10) != 10)
    raise("TemplateRuntimeError", "filter 'int' with another base than ten is not supported");
  if (v.is_undefined()) raise_undefined(v);
  if (v.is_integral()) return v.as_integer();
  if (v.is_big()) return v;
  int64_t whole = 0;
  if (v.is_string() && parse(v.as_string(), whole)) return whole;
  double d = NAN;
  const bool number =
      v.is_float() ? (d = v.as_double(), true) : v.is_string() && parse(v.as_string(), d);
  if (number && std::isfinite(d) && std::fabs(d) < 9.2e18) return static_cast<int64_t>(d);
  return a.get(0, 0);
}

Value to_float(Frame&, V v, A given) {
  const Bound a("float", given, {"default"});
  if (v.is_undefined()) raise_undefined(v);
  if (v.is_numeric()) return v.as_double();
  double d = 0;
  if (v.is_string() && parse(v.as_string(), d)) return d;
  return a.get(0, 0.0);
}

// To even on ties of the exact binary value, as Python rounds: printf does that.
double rounded(double d, int64_t digits) {
  if (digits >= 0) {
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(std::min<int64_t>(digits, 60)),
                  d);
    return std::strtod(buffer, nullptr);
  }
  const double unit = std::pow(10, static_cast<double>(-digits));
  return std::nearbyint(d / unit) * unit;
}

Value round_filter(Frame&, V v, A given) {
  const Bound a("round", given, {"precision", "method"});
  const int64_t digits = a.integer(0, 0);
  const std::string method = a.text(1, "common");
  if (!v.is_numeric())
    raise("TypeError", "type ", type_name(v), " doesn't define __round__ method");
  if (method == "common") {
    if (v.is_float()) return rounded(v.as_double(), digits);
    return digits >= 0 ? v.as_integer() : static_cast<int64_t>(rounded(v.as_double(), digits));
  }
  if (method != "ceil" && method != "floor")
    raise("FilterArgumentError", "method must be common, ceil or floor");
  const double unit = std::pow(10, static_cast<double>(digits)), scaled = v.as_double() * unit;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit;
}

Value absolute(Frame&, V v, A) {
  if (v.is_undefined()) raise_undefined(v);
  if (!v.is_numeric()) raise("TypeError", "bad operand type for abs(): '", type_name(v), "'");
  return v.as_double() < 0 ? negate(v) : v.is_boolean() ? Value(v.as_integer()) : v;
}

Value format(Frame&, V v, A given) {
  if (!given.named.empty() && !given.positional.empty())
    raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  const Value pattern = v.is_string() ? v : Value(to_text(v));
  if (given.named.empty()) return modulo(pattern, Value(List{given.positional, Flavor::tuple}));
  Dict named;
  for (const auto& [name, value] : given.named) named.set(Value(name), value);
  return modulo(pattern, Value(std::move(named)));
}

Value replace(Frame&, V v, A given) {
  const Bound a("replace", given, {"old", "new", "count"});
  const std::string s = to_text(v), from = to_text(a.at(0)), to = to_text(a.at(1));
  if (to.size() > from.size())
    check_size(static_cast<double>(s.size() + 1) * static_cast<double>(to.size() + 1));
  return Value(replace_text(s, from, to, a.integer(2, -1)));
}

Value default_filter(Frame&, V v, A given) {
  const Bound a("default", given, {"default_value", "boolean"});
  const bool missing = v.is_undefined() || (a.flag(1, false) && !truthy(v));
  return missing ? a.get(0, "") : v;
}

Value word_count(Frame&, V v, A) {
  int64_t words = 0;
  bool inside = false;
  const std::string s = to_text(v);
  for (const auto c : characters(s)) {
    const bool word = c.size() > 1 || std::isalnum(static_cast<unsigned char>(c[0])) || c[0] == '_';
    words += word && !inside;
    inside = word;
  }
  return words;
}

Value url_encoded(Frame&, V v, A) {
  std::string out;
  for (const char c : to_text(v)) {
    const auto b = static_cast<unsigned char>(c);
    if (b < 0x80 &&
        (std::isalnum(b) || std::string_view("_.-~/").find(c) != std::string_view::npos))
      out += c;
    else
      out.append(1, '%')
          .append(1, "0123456789ABCDEF"[b >> 4])
          .append(1, "0123456789ABCDEF"[b & 15]);
  }
  return Value(std::move(out));
}

}  // namespace

void add_text_filters(FilterTable& table) {
  const auto text = [&](const char* name, std::string (*body)(std::string_view)) {
    table[name] = [body](Frame&, V v, A) { return marked_like(v, body(to_text(v))); };
  };
  text("upper", upper_text);
  text("lower", lower_text);
  text("capitalize", capitalize_text);
  for (const char* name : {"e", "escape"})
    table[name] = [](Frame&, V v, A) { return Value(Markup{markup_of(v)}); };
  table["forceescape"] = [](Frame&, V v, A) { return Value(Markup{escaped(to_text(v))}); };
  table["safe"] = [](Frame&, V v, A) { return Value(Markup{to_text(v)}); };
  table["string"] = [](Frame&, V v, A) { return v.is_string() ? v : Value(to_text(v)); };
  for (const char* name : {"d", "default"}) table[name] = default_filter;
  table["trim"] = [](Frame&, V v, A given) {
    return marked_like(
        v, strip_text(to_text(v), Side::both, Bound("trim", given, {"chars"}).get(0, nullptr)));
  };
  table["tojson"] = [](Frame&, V v, A given) { return Value(to_json(v, given)); };
  table["title"] = title;
  table["indent"] = indent;
  table["int"] = to_int;
  table["float"] = to_float;
  table["round"] = round_filter;
  table["abs"] = absolute;
  table["format"] = format;
  table["replace"] = replace;
  table["wordcount"] = word_count;
  table["urlencode"] = url_encoded;
}

}  // namespace cupel::text::jinja
