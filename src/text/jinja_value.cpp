// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_value.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

const char* flavor_name(Flavor f) {
  switch (f) {
    case Flavor::list:
      return "list";
    case Flavor::tuple:
      return "tuple";
    case Flavor::group:
      return "_GroupTuple";
    case Flavor::range:
      return "range";
    case Flavor::keys:
      return "dict_keys";
    case Flavor::values:
      return "dict_values";
    case Flavor::items:
      return "dict_items";
    case Flavor::generator:
      return "generator";
  }
  return "list";
}

constexpr int kDeepest = 500;

thread_local int64_t steps_left = Budget::kMostSteps;

int depth_of(const Value& v) {
  const int inner = v.is_list()     ? v.as_list().depth
                    : v.is_dict()   ? v.as_dict().depth
                    : v.is_object() ? v.as_object().depth()
                                    : 0;
  const int depth = inner + 1;
  if (depth > kDeepest) raise("RecursionError", "a value is nested deeper than ", kDeepest);
  return depth;
}

bool same_items(const List& a, const List& b) {
  return a.flavor == b.flavor && a.items.size() == b.items.size() &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), equal);
}

bool same_entries(const Dict& a, const Dict& b) {
  return a.items.size() == b.items.size() &&
         std::all_of(a.items.begin(), a.items.end(), [&](const auto& entry) {
           const Value* other = b.find(entry.first);
           return other && equal(entry.second, *other);
         });
}

}  // namespace

Value::Value(List l) {
  for (const Value& v : l.items) l.depth = std::max(l.depth, depth_of(v));
  data_ = std::make_shared<const List>(std::move(l));
}

Value::Value(Dict d) {
  for (const auto& entry : d.items) d.depth = std::max(d.depth, depth_of(entry.second));
  data_ = std::make_shared<const Dict>(std::move(d));
}

Budget::Budget() : previous_(std::exchange(steps_left, kMostSteps)) {}
Budget::~Budget() {
  steps_left = previous_;
}

void spend(std::size_t units) {
  steps_left -= static_cast<int64_t>(units);
  if (steps_left < 0)
    raise("TimeoutError", "the template takes more than ", Budget::kMostSteps, " steps");
}

void spend_on(const Value& v) {
  if (v.is_string()) spend(v.as_string().size() / 16);
  if (v.is_list()) spend(v.as_list().items.size() / 64);
  if (v.is_dict()) spend(v.as_dict().items.size() / 64);
}

void raise_undefined(const Value& v) {
  const Undefined& u = v.as_undefined();
  raise(u.kind, u.message ? *u.message : "a value is undefined");
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [k, v] : items)
    if (equal(k, key)) return &v;
  return nullptr;
}

void check_hashable(const Value& key) {
  const bool list = key.is_list() &&
                    (key.as_list().flavor == Flavor::list || key.as_list().flavor > Flavor::range);
  if (key.is_dict() || list) raise("TypeError", "unhashable type: '", type_name(key), "'");
}

void Dict::set(Value key, Value value) {
  check_hashable(key);
  for (auto& [k, v] : items) {
    if (!equal(k, key)) continue;
    v = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
}

Value Object::attribute(const std::string& name) const {
  return Value::undefined(cat("'", type_name(), " object' has no attribute '", name, "'"));
}

Value Object::call(Frame&, const Arguments&) {
  raise("TypeError", "'", type_name(), "' object is not callable");
}

std::string Object::text() const {
  raise("TypeError", "a ", type_name(), " has no text");
}

std::string type_name(const Value& v) {
  if (v.is_undefined()) return "Undefined";
  if (v.is_none()) return "NoneType";
  if (v.is_boolean()) return "bool";
  if (v.is_integer() || v.is_big()) return "int";
  if (v.is_float()) return "float";
  if (v.is_string()) return "str";
  if (v.is_list()) return flavor_name(v.as_list().flavor);
  if (v.is_dict()) return "dict";
  return v.as_object().type_name();
}

bool truthy(const Value& v) {
  if (v.is_undefined() || v.is_none()) return false;
  if (v.is_integral()) return v.as_integer() != 0;
  if (v.is_float()) return v.as_double() != 0;
  if (v.is_string()) return !v.as_string().empty();
  if (v.is_list()) return v.as_list().flavor == Flavor::generator || !v.as_list().items.empty();
  if (v.is_dict()) return !v.as_dict().items.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
  if (a.is_numeric() && b.is_numeric()) return a.as_double() == b.as_double();
  if (a.is_string() && b.is_string()) return a.as_string() == b.as_string();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_big() && b.is_big()) return a.as_digits() == b.as_digits();
  if (a.is_list() && b.is_list()) return same_items(a.as_list(), b.as_list());
  if (a.is_dict() && b.is_dict()) return same_entries(a.as_dict(), b.as_dict());
  return a.same(b);
}

int compare(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral())
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer();
  if (a.is_numeric() && b.is_numeric())
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double();
  if (a.is_string() && b.is_string()) return a.as_string().compare(b.as_string());
  if (a.is_list() && b.is_list() && a.as_list().flavor == b.as_list().flavor &&
      a.as_list().flavor <= Flavor::tuple) {
    const auto &x = a.as_list().items, &y = b.as_list().items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i])) return compare(x[i], y[i]);
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  for (const Value* v : {&a, &b})
    if (v->is_undefined()) raise_undefined(*v);
  raise("TypeError", "'<' not supported between instances of '", type_name(a), "' and '",
        type_name(b), "'");
}

std::vector<std::string_view> characters(std::string_view s) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = utf8_length(s[i]);
    out.push_back(s.substr(i, n));
    i += n;
  }
  return out;
}

std::vector<Value> iterate(const Value& v) {
  if (v.is_undefined()) return {};
  std::vector<Value> out;
  if (v.is_list()) {
    spend(v.as_list().items.size() / 8);
    out = v.as_list().items;
  } else if (v.is_string()) {
    spend(v.as_string().size() / 8);
    for (const auto c : characters(v.as_string())) out.emplace_back(c);
  } else if (v.is_dict()) {
    for (const auto& entry : v.as_dict().items) out.push_back(entry.first);
  } else {
    raise("TypeError", "'", type_name(v), "' object is not iterable");
  }
  return out;
}

int64_t length(const Value& v) {
  if (v.is_undefined()) return 0;
  if (v.is_string()) {
    const auto& s = v.as_string();
    return std::count_if(s.begin(), s.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  }
  if (v.is_dict()) return static_cast<int64_t>(v.as_dict().items.size());
  if (v.is_list() && v.as_list().flavor != Flavor::generator)
    return static_cast<int64_t>(v.as_list().items.size());
  raise("TypeError", "object of type '", type_name(v), "' has no len()");
}

}  // namespace cupel::text::jinja
