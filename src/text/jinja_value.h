// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/cat.h"

namespace cupel::text::jinja {

class Value;
class Object;
struct Frame;

/// What a template does wrong while it runs, with the name that Python's exception has.
struct TemplateError {
  std::string kind, message;
};
template <class... Parts>
[[noreturn]] void raise(const char* kind, const Parts&... parts) {
  throw TemplateError{kind, cat(parts...)};
}

/// Values that differ in Python but are sequences all: they print, index and compare differently. A
/// group is a pair of groupby, with the names `grouper` and `list`.
enum class Flavor { list, tuple, group, range, keys, values, items, generator };

struct List;
struct Dict;
/// An integer beyond 64 bits: it can be passed on and printed, not computed with.
struct BigInteger {
  std::string digits;
};
/// A text that filter `safe` or `escape` has marked as HTML (markupsafe's Markup).
struct Markup {
  std::string text;
};
struct Undefined {
  std::shared_ptr<const std::string> message;  ///< of the error that its use raises
  const char* kind = "UndefinedError";
  bool operator==(const Undefined& o) const { return message == o.message; }
};

/// A value with Python's meaning. Strings, lists and dicts are shared and immutable; copies are
/// cheap.
class Value {
 public:
  Value() : Value(Undefined{}) {}
  Value(Undefined u) : data_(std::move(u)) {}
  Value(std::nullptr_t) : data_(nullptr) {}
  Value(bool b) : data_(b) {}
  Value(int64_t i) : data_(i) {}
  Value(int i) : data_(int64_t{i}) {}
  Value(double d) : data_(d) {}
  Value(BigInteger b) : data_(std::make_shared<const BigInteger>(std::move(b))) {}
  Value(Markup m) : data_(std::make_shared<const Markup>(std::move(m))) {}
  Value(std::string s) : data_(std::make_shared<const std::string>(std::move(s))) {}
  Value(std::string_view s) : Value(std::string(s)) {}
  Value(const char* s) : Value(std::string(s)) {}
  Value(List l);
  Value(Dict d);
  template <class T>
  requires std::is_convertible_v<std::shared_ptr<T>, std::shared_ptr<Object>> Value(
      std::shared_ptr<T> o)
      : data_(std::shared_ptr<Object>(std::move(o))) {}
  static Value undefined(std::string message, const char* error = "UndefinedError") {
    return Undefined{std::make_shared<const std::string>(std::move(message)), error};
  }

  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<std::nullptr_t>(); }
  bool is_boolean() const { return is<bool>(); }
  bool is_integer() const { return is<int64_t>(); }
  bool is_float() const { return is<double>(); }
  bool is_big() const { return is<std::shared_ptr<const BigInteger>>(); }
  bool is_markup() const { return is<std::shared_ptr<const Markup>>(); }
  bool is_string() const { return is<std::shared_ptr<const std::string>>() || is_markup(); }
  bool is_list() const { return is<std::shared_ptr<const List>>(); }
  bool is_dict() const { return is<std::shared_ptr<const Dict>>(); }
  bool is_object() const { return is<std::shared_ptr<Object>>(); }
  /// Booleans count, as in Python.
  bool is_integral() const { return is_integer() || is_boolean(); }
  bool is_numeric() const { return is_integral() || is_float(); }

  const Undefined& as_undefined() const { return std::get<Undefined>(data_); }
  int64_t as_integer() const {
    return is_boolean() ? std::get<bool>(data_) : std::get<int64_t>(data_);
  }
  double as_double() const {
    return is_float() ? std::get<double>(data_) : static_cast<double>(as_integer());
  }
  const std::string& as_string() const {
    if (is_markup()) return std::get<std::shared_ptr<const Markup>>(data_)->text;
    return *std::get<std::shared_ptr<const std::string>>(data_);
  }
  const std::string& as_digits() const {
    return std::get<std::shared_ptr<const BigInteger>>(data_)->digits;
  }
  const List& as_list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& as_dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Object& as_object() const { return *std::get<std::shared_ptr<Object>>(data_); }
  bool same(const Value& o) const { return data_ == o.data_; }

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  std::variant<Undefined, std::nullptr_t, bool, int64_t, double, std::shared_ptr<const BigInteger>,
               std::shared_ptr<const std::string>, std::shared_ptr<const Markup>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      data_;
};

struct List {
  std::vector<Value> items;
  Flavor flavor = Flavor::list;
  int depth = 0;     ///< of nesting, set and limited when it becomes a Value: destructors recurse
  int64_t stop = 0;  ///< of a range
};

/// Keeps the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 0;
  const Value* find(const Value& key) const;
  void set(Value key, Value value);
};
/// TypeError if the value can't be a key.
void check_hashable(const Value& key);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Anything with behaviour: functions, macros, namespaces, `loop`.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  virtual Value attribute(const std::string& name) const;
  virtual bool callable() const { return false; }
  virtual Value call(Frame& frame, const Arguments& arguments);
  virtual std::string text() const;
  /// Nesting of the values that it holds.
  virtual int depth() const { return 0; }
};

/// Counts work against the limit of the rendering that runs on this thread: one unit is about one
/// simple expression. TimeoutError beyond the limit.
void spend(std::size_t units);
/// The same for looking through a value once.
void spend_on(const Value& v);

/// The limit, from its construction to its end.
class Budget {
 public:
  static constexpr int64_t kMostSteps = 20'000'000;
  Budget();
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  int64_t previous_;
};

/// Raises the error of a value that is undefined.
[[noreturn]] void raise_undefined(const Value& v);
std::string type_name(const Value& v);
bool truthy(const Value& v);
bool equal(const Value& a, const Value& b);
/// Negative, 0 or positive; TypeError where Python has no order.
int compare(const Value& a, const Value& b);
std::string to_text(const Value& v);         ///< str(v)
std::string representation(const Value& v);  ///< repr(v)
std::string float_text(double d);            ///< repr of a float
std::vector<Value> iterate(const Value& v);  ///< list(v); TypeError if it can't be iterated
int64_t length(const Value& v);

Value attribute(const Value& v, const std::string& name);  ///< v.name
Value item(const Value& v, const Value& key);              ///< v[key]
Value slice(const Value& v, const Value& start, const Value& stop, const Value& step);
/// A method of a string, list or dict, bound to it; null if there is none of that name.
std::shared_ptr<Object> method(const Value& v, const std::string& name);

/// The characters of a string, each as its UTF-8.
std::vector<std::string_view> characters(std::string_view s);

}  // namespace cupel::text::jinja
