// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// 'pattern' % values and 'pattern'.format(values).

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/jinja_library.h"
#include "text/jinja_operators.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// One conversion, common to both languages.
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false, comma = false;
  int width = 0, precision = -1;
  char type = 0;
};

int read_number(std::string_view s, std::size_t& at) {
  int n = 0;
  for (; at < s.size() && is_digit(s[at]); ++at) {
    n = n * 10 + (s[at] - '0');
    if (n > 100000) raise("ValueError", "a width or precision is too large");
  }
  return n;
}

std::string padded(std::string text, const Spec& spec, char default_align) {
  const int64_t gap = spec.width - length(Value(text));
  if (gap <= 0) return text;
  const char align = spec.align ? spec.align : default_align;
  const int64_t left = align == '<' ? 0 : align == '^' ? gap / 2 : gap;
  std::string before, after;
  for (int64_t i = 0; i < left; ++i) before += spec.fill;
  for (int64_t i = left; i < gap; ++i) after += spec.fill;
  if (align == '=' && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' '))
    return cat(text[0], before, text.substr(1));
  return cat(before, text, after);
}

std::string with_commas(const std::string& digits) {
  const std::size_t end = std::min(digits.find_first_of(".e"), digits.size());
  const std::size_t begin = is_digit(digits[0]) ? 0 : 1;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > begin && i < end && (end - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string with_sign(std::string digits, const Spec& spec) {
  if (digits[0] != '-' && spec.sign != '-') digits = cat(spec.sign, digits);
  return spec.comma ? with_commas(digits) : digits;
}

std::string integer_text(int64_t v, char type, bool alternate) {
  if (type == 'd' || type == 'i' || type == 'u' || type == 0 || type == 'n') return cat(v);
  const unsigned base = type == 'o' ? 8 : type == 'b' ? 2 : 16;
  uint64_t rest = v < 0 ? ~static_cast<uint64_t>(v) + 1 : static_cast<uint64_t>(v);
  const char* digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string backwards;
  do backwards += digits[rest % base];
  while (rest /= base);
  if (alternate) backwards.append(1, type).append(1, '0');
  if (v < 0) backwards += '-';
  return {backwards.rbegin(), backwards.rend()};
}

std::string double_text(double v, const Spec& spec) {
  const char type = spec.type == '%' ? 'f' : spec.type;
  if (spec.type == '%') v *= 100;
  const char pattern[] = {'%', '.', '*', type, 0};
  std::string out(512, '\0');
  const int n = std::snprintf(out.data(), out.size(), pattern,
                              spec.precision < 0 ? 6 : std::min(spec.precision, 150), v);
  out.resize(static_cast<std::size_t>(std::max(n, 0)));
  if (spec.type == '%') out += '%';
  return out;
}

std::string number(const Value& v, const Spec& spec) {
  if (!v.is_numeric())
    raise("TypeError", "format code '", spec.type ? spec.type : 'd', "' needs a number, not ",
          type_name(v));
  const bool whole = std::string_view("dioxXubn").find(spec.type) != std::string_view::npos;
  std::string digits;
  if (spec.type && std::string_view("feEFgG%").find(spec.type) != std::string_view::npos)
    digits = double_text(v.as_double(), spec);
  else if (v.is_float() && !whole)
    digits = float_text(v.as_double());
  else if (v.is_float())
    digits = integer_text(static_cast<int64_t>(std::clamp(v.as_double(), -9.2e18, 9.2e18)),
                          spec.type, spec.alternate);
  else
    digits = integer_text(v.as_integer(), spec.type, spec.alternate);
  return padded(with_sign(std::move(digits), spec), spec, '>');
}

std::string cut(const std::string& s, const Spec& spec) {
  if (spec.precision < 0) return s;
  std::string out;
  for (const auto c : characters(s))
    if (length(Value(out)) < spec.precision) out += c;
  return out;
}

/// The values of a % one after the other.
class Values {
 public:
  explicit Values(const Value& v)
      : v_(v), tuple_(v.is_list() && v.as_list().flavor == Flavor::tuple) {}
  const Value& next() {
    const std::size_t n = tuple_ ? v_.as_list().items.size() : 1;
    if (at_ >= n) raise("TypeError", "not enough arguments for format string");
    return tuple_ ? v_.as_list().items[at_++] : (++at_, v_);
  }
  const Value& named(const std::string& name) {
    if (!v_.is_dict()) raise("TypeError", "format requires a mapping");
    const Value* found = v_.as_dict().find(Value(name));
    if (!found) raise("KeyError", name);
    at_ = 1;
    return *found;
  }
  void check_all_used() const {
    const bool like_a_mapping = v_.is_dict() || v_.is_list() || v_.is_undefined();
    if (at_ < (tuple_ ? v_.as_list().items.size() : like_a_mapping ? 0 : 1))
      raise("TypeError", "not all arguments converted during string formatting");
  }

 private:
  const Value& v_;
  bool tuple_;
  std::size_t at_ = 0;
};

int star_or_number(std::string_view s, std::size_t& at, Values& values) {
  if (at >= s.size() || s[at] != '*') return read_number(s, at);
  ++at;
  const Value& v = values.next();
  if (!v.is_integral()) raise("TypeError", "* wants int");
  return static_cast<int>(std::clamp<int64_t>(v.as_integer(), 0, 100000));
}

std::string percent_conversion(std::string_view s, std::size_t& at, Values& values) {
  const Value* v = nullptr;
  if (at < s.size() && s[at] == '(') {
    const std::size_t close = s.find(')', at);
    if (close == s.npos) raise("ValueError", "incomplete format key");
    v = &values.named(std::string(s.substr(at + 1, close - at - 1)));
    at = close + 1;
  }
  Spec spec;
  for (; at < s.size() && std::string_view("-+ #0").find(s[at]) != std::string_view::npos; ++at) {
    if (s[at] == '-') spec.align = '<';
    if (s[at] == '+') spec.sign = '+';
    if (s[at] == ' ' && spec.sign != '+') spec.sign = ' ';
    if (s[at] == '#') spec.alternate = true;
    if (s[at] == '0' && !spec.align) spec.align = '=', spec.fill.assign(1, '0');
  }
  spec.width = star_or_number(s, at, values);
  if (at < s.size() && s[at] == '.') spec.precision = star_or_number(s, ++at, values);
  if (at >= s.size()) raise("ValueError", "incomplete format");
  spec.type = s[at++];
  if (!v) v = &values.next();
  if (spec.type == 's' || spec.type == 'r') {
    if (spec.align == '=') spec.align = 0, spec.fill.assign(1, ' ');
    return padded(cut(spec.type == 's' ? to_text(*v) : representation(*v), spec), spec, '>');
  }
  if (std::string_view("dixXoueEfFgG").find(spec.type) == std::string_view::npos)
    raise("ValueError", "unsupported format character '", spec.type, "'");
  return number(*v, spec);
}

Spec read_spec(std::string_view s) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const std::size_t first = s.empty() ? 0 : utf8_length(s[0]);
  if (first < s.size() && is_align(s[first])) {
    spec.fill = std::string(s.substr(0, first));
    spec.align = s[first];
    at = first + 1;
  } else if (!s.empty() && is_align(s[0])) {
    spec.align = s[at++];
  }
  if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) spec.sign = s[at++];
  if (at < s.size() && s[at] == '#') spec.alternate = true, ++at;
  if (at < s.size() && s[at] == '0' && !spec.align)
    spec.align = '=', spec.fill.assign(1, '0'), ++at;
  spec.width = read_number(s, at);
  if (at < s.size() && s[at] == ',') spec.comma = true, ++at;
  if (at < s.size() && s[at] == '.') spec.precision = read_number(s, ++at);
  if (at < s.size()) spec.type = s[at++];
  if (at != s.size() ||
      std::string_view("\0sdnoxXbeEfFgG%", 15).find(spec.type) == std::string_view::npos)
    raise("ValueError", "format specification '", s, "' is not supported");
  return spec;
}

/// The value of a replacement field such as `0`, `name`, `x.y` or `x[k]`.
Value field_value(std::string_view field, const Arguments& arguments, int& automatic) {
  const std::size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string first(field.substr(0, end));
  Value v;
  if (first.empty() || std::all_of(first.begin(), first.end(), is_digit)) {
    std::size_t pos = 0;
    const auto i = static_cast<std::size_t>(first.empty() ? automatic++ : read_number(first, pos));
    if (i >= arguments.positional.size())
      raise("IndexError", "replacement index ", i, " is out of range");
    v = arguments.positional[i];
  } else {
    const auto at = std::find_if(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& n) { return n.first == first; });
    if (at == arguments.named.end()) raise("KeyError", first);
    v = at->second;
  }
  for (std::size_t at = end; at < field.size();) {
    const bool bracket = field[at] == '[';
    const std::size_t stop =
        bracket ? field.find(']', at) : std::min(field.find_first_of(".[", at + 1), field.size());
    if (stop == field.npos) raise("ValueError", "expected '}' before end of string");
    const std::string key(field.substr(at + 1, stop - at - 1));
    const bool index = bracket && !key.empty() && std::all_of(key.begin(), key.end(), is_digit);
    std::size_t pos = 0;
    v = !bracket ? attribute(v, key) : item(v, index ? Value(read_number(key, pos)) : Value(key));
    if (v.is_undefined()) raise_undefined(v);
    at = stop + (bracket ? 1 : 0);
  }
  return v;
}

std::string format_one(Value v, char conversion, const std::string& spec_text) {
  if (conversion == 'r') v = Value(representation(v));
  if (conversion == 's') v = Value(to_text(v));
  const Spec spec = read_spec(spec_text);
  if (spec_text.empty()) return to_text(v);
  if (v.is_numeric() && spec.type != 's' && !(v.is_boolean() && !spec.type)) return number(v, spec);
  if (spec.type && spec.type != 's')
    raise("ValueError", "Unknown format code '", spec.type, "' for object of type '", type_name(v),
          "'");
  return padded(cut(to_text(v), spec), spec, '<');
}

}  // namespace

std::string percent_format(const std::string& pattern, const Value& given) {
  Values values(given);
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '%') {
      out += pattern[at++];
    } else if (++at < pattern.size() && pattern[at] == '%') {
      out += pattern[at++];
    } else {
      out += percent_conversion(pattern, at, values);
    }
    check_size(static_cast<double>(out.size()));
  }
  values.check_all_used();
  return out;
}

std::string brace_format(const std::string& s, const Arguments& arguments) {
  std::string out;
  int automatic = 0;
  for (std::size_t at = 0; at < s.size();) {
    check_size(static_cast<double>(out.size()));
    const char c = s[at++];
    const bool brace = c == '{' || c == '}';
    if (!brace || (at < s.size() && s[at] == c)) {
      out += c;
      at += brace;
      continue;
    }
    if (c == '}') raise("ValueError", "Single '}' encountered in format string");
    const std::size_t close = s.find('}', at);
    if (close == s.npos) raise("ValueError", "Single '{' encountered in format string");
    std::string_view field = std::string_view(s).substr(at, close - at);
    if (field.find('{') != field.npos)
      raise("ValueError", "fields inside format specifications are not supported");
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string spec(field.substr(std::min(colon + 1, field.size())));
    field = field.substr(0, colon);
    const std::size_t bang = field.find('!');
    const char conversion = bang != field.npos && bang + 1 < field.size() ? field[bang + 1] : '\0';
    out += format_one(field_value(field.substr(0, bang), arguments, automatic), conversion, spec);
    at = close + 1;
  }
  return out;
}

}  // namespace cupel::text::jinja
