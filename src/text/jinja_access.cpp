// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// v.name, v[key] and v[a:b:c], with the rules of Jinja's immutable sandbox.

#include <algorithm>
#include <array>

#include "text/jinja_markup.h"
#include "text/jinja_value.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

bool would_modify(const Value& v, const std::string& name) {
  if (v.is_list() && v.as_list().flavor == Flavor::list)
    return is_one_of(name,
                     {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});
  return v.is_dict() && is_one_of(name, {"clear", "pop", "popitem", "setdefault", "update"});
}

Value missing(const Value& v, const std::string& what) {
  return Value::undefined(cat("'", type_name(v), " object' has no ", what));
}

// What Python's getattr() gives; false if there is nothing of that name.
bool python_attribute(const Value& v, const std::string& name, Value& out) {
  const bool hidden = name.rfind("__", 0) == 0;
  if (hidden || would_modify(v, name)) {
    out = Value::undefined(
        cat("access to attribute '", name, "' of '", type_name(v), "' object is unsafe."),
        "SecurityError");
    return true;
  }
  if (v.is_list() && v.as_list().flavor == Flavor::group && (name == "grouper" || name == "list")) {
    out = v.as_list().items[name == "list"];
    return true;
  }
  if (v.is_object()) {
    out = v.as_object().attribute(name);
    return !out.is_undefined();
  }
  auto bound = method(v, name);
  if (!bound) return false;
  out = Value(std::move(bound));
  return true;
}

// The place in a sequence of n that an index means; -1 if it is outside.
int64_t place(const Value& key, int64_t n) {
  const int64_t i = key.as_integer();
  const int64_t at = i < 0 ? i + n : i;
  return at >= 0 && at < n ? at : -1;
}

// Where the character that is `count` characters behind byte `from` starts.
std::size_t skip_characters(std::string_view s, std::size_t from, int64_t count) {
  for (; count > 0; --count) from += utf8_length(s[from]);
  return from;
}

// What v[key] gives in Python; false where Python raises a LookupError or TypeError.
bool python_item(const Value& v, const Value& key, Value& out) {
  if (v.is_dict()) {
    const Value* found = v.as_dict().find(key);
    if (found) out = *found;
    return found != nullptr;
  }
  if (!key.is_integral()) return false;
  if (v.is_list() && v.as_list().flavor <= Flavor::range) {
    const auto& items = v.as_list().items;
    const int64_t at = place(key, static_cast<int64_t>(items.size()));
    if (at >= 0) out = items[static_cast<std::size_t>(at)];
    return at >= 0;
  }
  if (!v.is_string()) return false;
  const std::string& s = v.as_string();
  const int64_t at = place(key, length(v));
  if (at < 0) return false;
  const std::size_t byte = skip_characters(s, 0, at);
  out = marked_like(v, s.substr(byte, utf8_length(s[byte])));
  return true;
}

struct Bounds {
  int64_t start, stop, step;
};

Bounds bounds(const Value& start, const Value& stop, const Value& step, int64_t n) {
  for (const Value* v : {&start, &stop, &step})
    if (!v->is_none() && !v->is_integral())
      raise("TypeError", "slice indices must be integers or None, not ", type_name(*v));
  const int64_t by = step.is_none() ? 1 : step.as_integer();
  if (by == 0) raise("ValueError", "slice step cannot be zero");
  const int64_t low = by > 0 ? 0 : -1, high = by > 0 ? n : n - 1;
  const auto clamp = [&](const Value& v, int64_t fallback) {
    if (v.is_none()) return fallback;
    const int64_t i = v.as_integer();
    return std::clamp(i < 0 ? i + n : i, low, high);
  };
  return {clamp(start, by > 0 ? low : high), clamp(stop, by > 0 ? high : low), by};
}

template <class Visit>
void each_index(const Bounds& b, const Visit& visit) {
  for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop;) {
    visit(static_cast<std::size_t>(i));
    if (b.step > 0 ? b.step > b.stop - i : b.step < b.stop - i) break;
    i += b.step;
  }
}

Value text_slice(const std::string& s, const Bounds& b) {
  if (b.step == 1) {
    if (b.start >= b.stop) return Value("");
    const std::size_t from = skip_characters(s, 0, b.start);
    return Value(s.substr(from, skip_characters(s, from, b.stop - b.start) - from));
  }
  const auto chars = characters(s);
  std::string out;
  each_index(b, [&](std::size_t i) { out += chars[i]; });
  return Value(std::move(out));
}

}  // namespace

Value attribute(const Value& v, const std::string& name) {
  if (v.is_undefined()) raise_undefined(v);
  if (v.is_dict()) spend_on(v);
  Value out;
  if (python_attribute(v, name, out) || python_item(v, Value(name), out)) return out;
  return missing(v, cat("attribute '", name, "'"));
}

Value item(const Value& v, const Value& key) {
  if (!v.is_list()) spend_on(v);
  if (v.is_undefined()) raise_undefined(v);
  Value out;
  if (python_item(v, key, out)) return out;
  if (key.is_string() && python_attribute(v, key.as_string(), out)) return out;
  return missing(v, key.is_string() ? cat("attribute '", key.as_string(), "'")
                                    : cat("element ", representation(key)));
}

Value slice(const Value& v, const Value& start, const Value& stop, const Value& step) {
  if (v.is_undefined()) raise_undefined(v);
  spend_on(v);
  if (v.is_string()) {
    const Value out = text_slice(v.as_string(), bounds(start, stop, step, length(v)));
    return v.is_markup() ? marked(out) : out;
  }
  if (!v.is_list() || v.as_list().flavor > Flavor::range)
    raise("TypeError", "'", type_name(v), "' object cannot be sliced");
  const List& l = v.as_list();
  List out;
  out.flavor = l.flavor == Flavor::group ? Flavor::tuple : l.flavor;
  each_index(bounds(start, stop, step, static_cast<int64_t>(l.items.size())),
             [&](std::size_t i) { out.items.push_back(l.items[i]); });
  if (out.flavor == Flavor::range && !out.items.empty())
    out.stop = out.items.back().as_integer() +
               (out.items.size() > 1 && compare(out.items[0], out.items[1]) > 0 ? -1 : 1);
  return Value(std::move(out));
}

}  // namespace cupel::text::jinja
