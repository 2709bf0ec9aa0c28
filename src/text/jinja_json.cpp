// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/jinja_library.h"
#include "text/jinja_operators.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

void append_u(std::string& out, char32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[unit >> shift & 15];
}

void append_quoted(std::string& out, std::string_view s, bool ascii) {
  out += '"';
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t start = pos;
    const char32_t c = utf8_next(s, pos);
    constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
    const auto short_form = c < 0x80 ? kFrom.find(static_cast<char>(c)) : kFrom.npos;
    if (short_form != kFrom.npos) {
      out += '\\';
      out += kTo[short_form];
    } else if (c < 0x20 || (ascii && c >= 0x7F && c < 0x10000)) {
      append_u(out, c);
    } else if (ascii && c >= 0x10000) {
      append_u(out, 0xD800 + ((c - 0x10000) >> 10));
      append_u(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      out += s.substr(start, pos - start);
    }
  }
  out += '"';
}

class Writer {
 public:
  explicit Writer(const Arguments& given) {
    const Bound a("tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"});
    ascii_ = a.flag(0, false);
    const Value indent = a.get(1, nullptr), separators = a.get(2, nullptr);
    indented_ = !indent.is_none();
    if (indent.is_string())
      indent_ = indent.as_string();
    else if (indented_)
      indent_.assign(static_cast<std::size_t>(std::clamp<int64_t>(a.integer(1, 0), 0, 1000)), ' ');
    if (indented_) item_ = ",";
    sorted_ = a.flag(3, false);
    if (separators.is_none()) return;
    const auto two = iterate(separators);
    if (two.size() != 2 || !two[0].is_string() || !two[1].is_string())
      raise("TypeError", "separators must be two strings");
    item_ = two[0].as_string();
    key_ = two[1].as_string();
  }

  std::string write(const Value& v) {
    value(v, 0);
    return std::move(out_);
  }

 private:
  void value(const Value& v, int level) {
    spend(1);
    check_size(static_cast<double>(out_.size()));
    if (v.is_string())
      append_quoted(out_, v.as_string(), ascii_);
    else if (v.is_none())
      out_ += "null";
    else if (v.is_boolean())
      out_ += v.as_integer() ? "true" : "false";
    else if (v.is_float())
      out_ += number(v.as_double());
    else if (v.is_integer() || v.is_big())
      out_ += to_text(v);
    else if (v.is_list() && v.as_list().flavor <= Flavor::tuple)
      list(v.as_list(), level);
    else if (v.is_dict())
      dict(v.as_dict(), level);
    else
      raise("TypeError", "Object of type ", type_name(v), " is not JSON serializable");
  }

  static std::string number(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d > 0 ? "Infinity" : "-Infinity";
    return float_text(d);
  }

  void new_line(int level) {
    if (!indented_) return;
    out_ += '\n';
    for (int i = 0; i < level; ++i) out_ += indent_;
  }

  void list(const List& l, int level) {
    if (l.items.empty()) return void(out_ += "[]");
    out_ += '[';
    for (std::size_t i = 0; i < l.items.size(); ++i) {
      if (i) out_ += item_;
      new_line(level + 1);
      value(l.items[i], level + 1);
    }
    new_line(level);
    out_ += ']';
  }

  void dict(const Dict& d, int level) {
    if (d.items.empty()) return void(out_ += "{}");
    auto entries = d.items;
    if (sorted_)
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return compare(a.first, b.first) < 0; });
    out_ += '{';
    bool first = true;
    for (const auto& [key, v] : entries) {
      if (!std::exchange(first, false)) out_ += item_;
      new_line(level + 1);
      append_quoted(out_, key_text(key), ascii_);
      out_ += key_;
      value(v, level + 1);
    }
    new_line(level);
    out_ += '}';
  }

  static std::string key_text(const Value& key) {
    if (key.is_string()) return key.as_string();
    if (key.is_none()) return "null";
    if (key.is_boolean()) return key.as_integer() ? "true" : "false";
    if (key.is_float()) return number(key.as_double());
    if (key.is_integer() || key.is_big()) return to_text(key);
    raise("TypeError", "keys must be str, int, float, bool or None, not ", type_name(key));
  }

  std::string out_, indent_, item_ = ", ", key_ = ": ";
  bool ascii_ = false, indented_ = false, sorted_ = false;
};

using nlohmann::json;

constexpr std::size_t kDeepest = 200;

/// Builds values straight from the parser's events, so that the order of keys and the digits of
/// large numbers stay.
class Reader : public json::json_sax_t {
 public:
  bool null() override { return put(Value(nullptr)); }
  bool boolean(bool v) override { return put(Value(v)); }
  bool number_integer(number_integer_t v) override { return put(Value(int64_t{v})); }
  bool number_unsigned(number_unsigned_t v) override {
    return put(v <= INT64_MAX ? Value(static_cast<int64_t>(v)) : Value(BigInteger{cat(v)}));
  }
  bool number_float(number_float_t v, const string_t& text) override {
    const bool integer = text.find_first_not_of("-0123456789") == text.npos;
    return put(integer ? Value(BigInteger{text}) : Value(v));
  }
  bool string(string_t& v) override { return put(Value(std::move(v))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool key(string_t& k) override {
    stack_.back().key = std::move(k);
    return true;
  }
  bool end_object() override {
    Value v(std::move(stack_.back().dict));
    stack_.pop_back();
    return put(std::move(v));
  }
  bool end_array() override {
    Value v(std::move(stack_.back().list));
    stack_.pop_back();
    return put(std::move(v));
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    fail(Fault::data, "template: the context's JSON is broken at byte ", at, ": ", e.what());
  }
  Value root;

 private:
  struct Level {
    bool is_dict;
    Dict dict;
    List list;
    std::string key;
  };
  bool open(bool is_dict) {
    CUPEL_CHECK(stack_.size() < kDeepest, data,
                "template: the context's JSON is nested deeper than ", kDeepest);
    stack_.push_back({is_dict, {}, {}, {}});
    return true;
  }
  bool put(Value v) {
    if (stack_.empty())
      root = std::move(v);
    else if (stack_.back().is_dict)
      stack_.back().dict.set(Value(stack_.back().key), std::move(v));
    else
      stack_.back().list.items.push_back(std::move(v));
    return true;
  }
  std::vector<Level> stack_;
};

}  // namespace

std::string to_json(const Value& v, const Arguments& options) {
  return Writer(options).write(v);
}

Dict from_json(std::string_view text) {
  Reader reader;
  json::sax_parse(text.begin(), text.end(), &reader);
  CUPEL_CHECK(reader.root.is_dict(), data, "template: the context must be a JSON object");
  return reader.root.as_dict();
}

}  // namespace cupel::text::jinja
