// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Methods of strings, dicts and lists. Those of Python that are not here are an error that names
// them.

#include <algorithm>
#include <map>

#include "text/jinja_library.h"
#include "text/jinja_markup.h"
#include "text/jinja_operators.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

using Method = Value (*)(const Value& self, const Arguments& given);

class BoundMethod : public Object {
 public:
  BoundMethod(Value self, std::string_view name, Method body)
      : self_(std::move(self)), name_(name), body_(body) {}
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Value call(Frame&, const Arguments& given) override {
    spend_on(self_);
    return self_.is_markup() ? marked(body_(self_, as_markup(given))) : body_(self_, given);
  }
  int depth() const override {
    return 1 + (self_.is_list()   ? self_.as_list().depth
                : self_.is_dict() ? self_.as_dict().depth
                                  : 0);
  }

 private:
  /// Where a method of a marked text puts its arguments into it, they are escaped.
  Arguments as_markup(Arguments given) const {
    for (std::size_t i = 0; i < given.positional.size(); ++i) {
      Value& v = given.positional[i];
      if (name_ == "join")
        v = escaped_items(v);
      else if (name_ == "format" || (name_ == "replace" && i == 1))
        v = escaped_arguments(v);
    }
    for (auto& [name, v] : given.named)
      if (name_ == "format" || name == "new") v = escaped_arguments(v);
    return given;
  }

  Value self_;
  std::string_view name_;  // of the table
  Method body_;
};

const std::string& text_of(const Value& v) {
  if (!v.is_string()) raise("TypeError", "must be str, not ", type_name(v));
  return v.as_string();
}

Value list_of(const std::vector<std::string>& items) {
  List out;
  for (const auto& s : items) out.items.emplace_back(s);
  return Value(std::move(out));
}

int64_t code_points(std::string_view s) {
  return length(Value(s));
}

// Splits at white space: runs count once, ends give nothing.
std::vector<std::string> split_blanks(std::string_view s, int64_t most, bool from_right) {
  auto chars = characters(s);
  const auto blank = [](std::string_view c) {
    std::size_t pos = 0;
    const char32_t cp = utf8_next(c, pos);
    return is_space(cp) || (cp >= 0x1C && cp <= 0x1F);
  };
  std::vector<std::string> out;
  if (from_right) std::reverse(chars.begin(), chars.end());
  std::size_t i = 0;
  const auto skip = [&] {
    while (i < chars.size() && blank(chars[i])) ++i;
  };
  for (skip(); i < chars.size(); skip()) {
    const bool last = most >= 0 && static_cast<int64_t>(out.size()) == most;
    std::size_t end = i;
    while (end < chars.size() && (last || !blank(chars[end]))) ++end;
    std::string word;
    for (std::size_t k = i; k < end; ++k)
      word = from_right ? std::string(chars[k]) + word : word + std::string(chars[k]);
    out.push_back(word);
    i = end;
  }
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string> split_at(const std::string& s, const std::string& by, int64_t most,
                                  bool from_right) {
  if (by.empty()) raise("ValueError", "empty separator");
  std::vector<std::string> out;
  if (!from_right) {
    std::size_t start = 0;
    for (std::size_t at; most != 0 && (at = s.find(by, start)) != s.npos;
         --most, start = at + by.size())
      out.push_back(s.substr(start, at - start));
    out.push_back(s.substr(start));
    return out;
  }
  std::size_t end = s.size();
  for (std::size_t at;
       most != 0 && end >= by.size() && (at = s.rfind(by, end - by.size())) != s.npos;
       --most, end = at)
    out.push_back(s.substr(at + by.size(), end - at - by.size()));
  out.push_back(s.substr(0, end));
  std::reverse(out.begin(), out.end());
  return out;
}

Value split(const Value& self, const Arguments& given, bool from_right) {
  const Bound a(from_right ? "rsplit" : "split", given, {"sep", "maxsplit"});
  const Value by = a.get(0, nullptr);
  const int64_t most = a.integer(1, -1);
  if (by.is_none()) return list_of(split_blanks(self.as_string(), most, from_right));
  return list_of(split_at(self.as_string(), text_of(by), most, from_right));
}

bool has_affix(const Value& self, const Arguments& given, bool at_end) {
  const Bound a(at_end ? "endswith" : "startswith", given, {"prefix"});
  const auto holds = [&](const Value& affix) {
    const std::string &s = self.as_string(), &x = text_of(affix);
    return at_end ? s.ends_with(x) : s.starts_with(x);
  };
  const Value& affix = a.at(0);
  if (!affix.is_list()) return holds(affix);
  return std::any_of(affix.as_list().items.begin(), affix.as_list().items.end(), holds);
}

// Place of a text as a count of characters, -1 if it is not there.
int64_t find_text(const Value& self, const Arguments& given, bool from_right) {
  const Bound a("find", given, {"sub", "start", "end"});
  const Value part =
      a.has(1) || a.has(2) ? slice(self, a.get(1, nullptr), a.get(2, nullptr), nullptr) : self;
  const std::string& s = part.as_string();
  const std::size_t at = from_right ? s.rfind(text_of(a.at(0))) : s.find(text_of(a.at(0)));
  if (at == s.npos) return -1;
  const int64_t n = length(self), start = a.integer(1, 0);
  return code_points(std::string_view(s).substr(0, at)) +
         std::clamp<int64_t>(start < 0 ? start + n : start, 0, n);
}

Value index_of(const Value& self, const Arguments& given, bool from_right) {
  const int64_t at = find_text(self, given, from_right);
  if (at < 0) raise("ValueError", "substring not found");
  return at;
}

Value partition(const Value& self, const Arguments& given, bool from_right) {
  const std::string &s = self.as_string(), by = text_of(Bound("partition", given, {"sep"}).at(0));
  if (by.empty()) raise("ValueError", "empty separator");
  const std::size_t at = from_right ? s.rfind(by) : s.find(by);
  List out{{}, Flavor::tuple};
  if (at == s.npos)
    out.items = from_right ? std::vector<Value>{"", "", s} : std::vector<Value>{s, "", ""};
  else
    out.items = {Value(s.substr(0, at)), Value(by), Value(s.substr(at + by.size()))};
  return Value(std::move(out));
}

Value padded(const Value& self, const Arguments& given, Side text_side) {
  const Bound a("just", given, {"width", "fillchar"});
  const std::string fill = a.text(1, " ");
  const int64_t gap = std::max<int64_t>(0, a.integer(0, 0) - length(self)), width = a.integer(0, 0);
  check_size(static_cast<double>(gap) * static_cast<double>(fill.size()));
  // Python's center puts the odd one to the left when the width is odd.
  const int64_t left = text_side == Side::left    ? 0
                       : text_side == Side::right ? gap
                                                  : gap / 2 + (gap & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += self.as_string();
  for (int64_t i = left; i < gap; ++i) out += fill;
  return Value(std::move(out));
}

Value zero_filled(const Value& self, const Arguments& given) {
  std::string s = self.as_string();
  const int64_t gap = Bound("zfill", given, {"width"}).integer(0, 0) - length(self);
  check_size(static_cast<double>(gap));
  const bool sign = !s.empty() && (s[0] == '-' || s[0] == '+');
  if (gap > 0) s.insert(sign ? 1 : 0, static_cast<std::size_t>(gap), '0');
  return Value(std::move(s));
}

// True if there are characters and all are of the kind.
template <class Kind>
bool all_of(const Value& self, const Kind& kind) {
  const std::string& s = self.as_string();
  bool any = false;
  for (std::size_t pos = 0; pos < s.size(); any = true)
    if (!kind(utf8_next(s, pos))) return false;
  return any;
}

bool has_case(const Value& self, char wanted) {
  bool any = false;
  const std::string& s = self.as_string();
  for (std::size_t pos = 0; pos < s.size();) {
    const Category k = category(utf8_next(s, pos));
    if (k.major != 'L' || (k.minor != 'u' && k.minor != 'l' && k.minor != 't')) continue;
    if (k.minor != wanted) return false;
    any = true;
  }
  return any;
}

bool letter_or_digit(char32_t c) {
  return is_letter(c) || is_number(c);
}

std::string without_affix(const Value& self, const Arguments& given, bool at_end) {
  const std::string &s = self.as_string(),
                    x = text_of(Bound("removeprefix", given, {"prefix"}).at(0));
  if (at_end) return s.ends_with(x) ? s.substr(0, s.size() - x.size()) : s;
  return s.starts_with(x) ? s.substr(x.size()) : s;
}

int64_t count_text(const Value& self, const Arguments& given) {
  const std::string &s = self.as_string(), x = text_of(Bound("count", given, {"sub"}).at(0));
  if (x.empty()) return length(self) + 1;
  int64_t n = 0;
  for (std::size_t at = s.find(x); at != s.npos; at = s.find(x, at + x.size())) ++n;
  return n;
}

Value joined(const Value& self, const Arguments& given) {
  std::string out;
  bool first = true;
  for (const Value& v : iterate(Bound("join", given, {"iterable"}).at(0))) {
    if (!std::exchange(first, false)) out += self.as_string();
    out += text_of(v);
    check_size(static_cast<double>(out.size()));
  }
  return Value(std::move(out));
}

Value stripped(const Value& self, const Arguments& given, Side side) {
  return Value(
      strip_text(self.as_string(), side, Bound("strip", given, {"chars"}).get(0, nullptr)));
}

using V = const Value&;
using A = const Arguments&;

const std::map<std::string_view, Method>& string_methods() {
  static const std::map<std::string_view, Method> table = {
      {"upper", [](V s, A) { return Value(upper_text(s.as_string())); }},
      {"lower", [](V s, A) { return Value(lower_text(s.as_string())); }},
      {"casefold", [](V s, A) { return Value(lower_text(s.as_string())); }},
      {"title", [](V s, A) { return Value(title_text(s.as_string())); }},
      {"capitalize", [](V s, A) { return Value(capitalize_text(s.as_string())); }},
      {"strip", [](V s, A a) { return stripped(s, a, Side::both); }},
      {"lstrip", [](V s, A a) { return stripped(s, a, Side::left); }},
      {"rstrip", [](V s, A a) { return stripped(s, a, Side::right); }},
      {"split", [](V s, A a) { return split(s, a, false); }},
      {"rsplit", [](V s, A a) { return split(s, a, true); }},
      {"splitlines", [](V s, A) { return list_of(split_lines(s.as_string())); }},
      {"startswith", [](V s, A a) { return Value(has_affix(s, a, false)); }},
      {"endswith", [](V s, A a) { return Value(has_affix(s, a, true)); }},
      {"find", [](V s, A a) { return Value(find_text(s, a, false)); }},
      {"rfind", [](V s, A a) { return Value(find_text(s, a, true)); }},
      {"index", [](V s, A a) { return index_of(s, a, false); }},
      {"rindex", [](V s, A a) { return index_of(s, a, true); }},
      {"count", [](V s, A a) { return Value(count_text(s, a)); }},
      {"join", joined},
      {"format", [](V s, A a) { return Value(brace_format(s.as_string(), a)); }},
      {"partition", [](V s, A a) { return partition(s, a, false); }},
      {"rpartition", [](V s, A a) { return partition(s, a, true); }},
      {"ljust", [](V s, A a) { return padded(s, a, Side::left); }},
      {"rjust", [](V s, A a) { return padded(s, a, Side::right); }},
      {"center", [](V s, A a) { return padded(s, a, Side::both); }},
      {"zfill", zero_filled},
      {"removeprefix", [](V s, A a) { return Value(without_affix(s, a, false)); }},
      {"removesuffix", [](V s, A a) { return Value(without_affix(s, a, true)); }},
      {"isdigit",
       [](V s, A) {
         return Value(
             all_of(s, [](char32_t c) { return category(c).minor == 'd' && is_number(c); }));
       }},
      {"isdecimal",
       [](V s, A) {
         return Value(
             all_of(s, [](char32_t c) { return category(c).minor == 'd' && is_number(c); }));
       }},
      {"isnumeric", [](V s, A) { return Value(all_of(s, is_number)); }},
      {"isalpha", [](V s, A) { return Value(all_of(s, is_letter)); }},
      {"isalnum", [](V s, A) { return Value(all_of(s, letter_or_digit)); }},
      {"isspace", [](V s, A) { return Value(all_of(s, is_space)); }},
      {"isupper", [](V s, A) { return Value(has_case(s, 'u')); }},
      {"islower", [](V s, A) { return Value(has_case(s, 'l')); }},
      {"replace",
       [](V s, A given) {
         const Bound a("replace", given, {"old", "new", "count"});
         const std::string out =
             replace_text(s.as_string(), text_of(a.at(0)), text_of(a.at(1)), a.integer(2, -1));
         check_size(static_cast<double>(out.size()));
         return Value(out);
       }},
  };
  return table;
}

Value entries(V self, Flavor flavor) {
  List out;
  out.flavor = flavor;
  for (const auto& [key, v] : self.as_dict().items)
    out.items.push_back(flavor == Flavor::keys     ? key
                        : flavor == Flavor::values ? v
                                                   : Value(List{{key, v}, Flavor::tuple}));
  return Value(std::move(out));
}

const std::map<std::string_view, Method>& dict_methods() {
  static const std::map<std::string_view, Method> table = {
      {"keys", [](V s, A) { return entries(s, Flavor::keys); }},
      {"values", [](V s, A) { return entries(s, Flavor::values); }},
      {"items", [](V s, A) { return entries(s, Flavor::items); }},
      {"copy", [](V s, A) { return s; }},
      {"get",
       [](V s, A given) {
         const Bound a("get", given, {"key", "default"});
         const Value* found = s.as_dict().find(a.at(0));
         return found ? *found : a.get(1, nullptr);
       }},
  };
  return table;
}

const std::map<std::string_view, Method>& list_methods() {
  static const std::map<std::string_view, Method> table = {
      {"copy", [](V s, A) { return s; }},
      {"count",
       [](V s, A given) {
         const Bound a("count", given, {"value"});
         const auto& items = s.as_list().items;
         return Value(
             std::count_if(items.begin(), items.end(), [&](V v) { return equal(v, a.at(0)); }));
       }},
      {"index",
       [](V s, A given) {
         const Bound a("index", given, {"value"});
         const auto& items = s.as_list().items;
         for (std::size_t i = 0; i < items.size(); ++i)
           if (equal(items[i], a.at(0))) return Value(static_cast<int64_t>(i));
         raise("ValueError", representation(a.at(0)), " is not in list");
       }},
  };
  return table;
}

void check_supported(const Value& v, const std::string& name) {
  static constexpr const char* kStrings[] = {
      "encode",      "expandtabs", "format_map", "isascii",  "isidentifier",
      "isprintable", "istitle",    "maketrans",  "swapcase", "translate"};
  const bool missing = v.is_string() && std::any_of(std::begin(kStrings), std::end(kStrings),
                                                    [&](const char* n) { return name == n; });
  if (missing || (v.is_dict() && name == "fromkeys"))
    raise("TemplateRuntimeError", "method '", name, "' of ", type_name(v), " is not supported");
}

}  // namespace

std::shared_ptr<Object> method(const Value& v, const std::string& name) {
  const bool list = v.is_list() && v.as_list().flavor <= Flavor::range;
  if (!v.is_string() && !v.is_dict() && !list) return nullptr;
  const auto& table = v.is_string() ? string_methods()
                      : v.is_dict() ? dict_methods()
                                    : list_methods();
  const auto at = table.find(name);
  if (at != table.end()) return std::make_shared<BoundMethod>(v, at->first, at->second);
  check_supported(v, name);
  return nullptr;
}

}  // namespace cupel::text::jinja
