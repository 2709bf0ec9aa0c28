// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_frame.h"

namespace cupel::text::jinja {

using Filter = std::function<Value(Frame&, const Value& input, const Arguments&)>;
using Test = std::function<bool(Frame&, const Value& input, const Arguments&)>;

/// Null if there is none of that name.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
/// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
void add_globals(Scope& scope);

/// Arguments in the order of a function's parameters.
class Bound {
 public:
  /// TypeError for too many arguments or one that is not in `names`.
  Bound(const char* function, const Arguments& given, std::initializer_list<const char*> names);
  bool has(std::size_t i) const { return values_[i] != nullptr; }
  /// TypeError if it was not given.
  const Value& at(std::size_t i) const;
  Value get(std::size_t i, Value fallback) const { return values_[i] ? *values_[i] : fallback; }
  bool flag(std::size_t i, bool fallback) const {
    return values_[i] ? truthy(*values_[i]) : fallback;
  }
  int64_t integer(std::size_t i, int64_t fallback) const;
  std::string text(std::size_t i, const std::string& fallback) const;

 private:
  const char* function_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

/// A function of the library as a value.
class Function : public Object {
 public:
  using Body = std::function<Value(Frame&, const Arguments&)>;
  Function(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}
  std::string type_name() const override { return "function"; }
  bool callable() const override { return true; }
  Value call(Frame& frame, const Arguments& arguments) override { return body_(frame, arguments); }

 private:
  std::string name_;
  Body body_;
};

/// `namespace()`: the one value that a template may change.
class Namespace : public Object {
 public:
  std::string type_name() const override { return "Namespace"; }
  Value attribute(const std::string& name) const override;
  std::string text() const override { return "<Namespace " + representation(Value(values)) + ">"; }
  Dict values;
};

Value call_value(Frame& frame, const Value& callee, const Arguments& arguments);

/// json.dumps with Hugging Face's defaults: no HTML escapes, order kept.
std::string to_json(const Value& v, const Arguments& options);
/// Fault::data if it is not an object.
Dict from_json(std::string_view json);

/// Strings.
std::string upper_text(std::string_view s);
std::string lower_text(std::string_view s);
std::string capitalize_text(std::string_view s);
std::string title_text(std::string_view s);
enum class Side { left, right, both };
/// `characters` none is white space.
std::string strip_text(std::string_view s, Side side, const Value& characters);
std::string replace_text(std::string_view s, const std::string& from, const std::string& to,
                         int64_t count);
std::vector<std::string> split_lines(std::string_view s);

}  // namespace cupel::text::jinja
