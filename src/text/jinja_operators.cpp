// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_markup.h"

namespace cupel::text::jinja {
namespace {

constexpr double kLargest = 64e6;

[[noreturn]] void mismatch(const char* op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b})
    if (v->is_undefined()) raise_undefined(*v);
  if (a.is_big() || b.is_big())
    raise("OverflowError", "integers of more than 64 bits cannot be computed with");
  raise("TypeError", "unsupported operand type(s) for ", op, ": '", type_name(a), "' and '",
        type_name(b), "'");
}

[[noreturn]] void overflow() {
  raise("OverflowError", "the result has more than 64 bits");
}

Value repeated(const Value& what, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (what.is_string()) {
    check_size(static_cast<double>(what.as_string().size()) * static_cast<double>(times));
    spend(what.as_string().size() * static_cast<std::size_t>(times) / 16);
    std::string out;
    for (int64_t i = 0; i < times; ++i) out += what.as_string();
    return marked_like(what, std::move(out));
  }
  const List& l = what.as_list();
  check_size(16.0 * static_cast<double>(l.items.size()) * static_cast<double>(times));
  spend(l.items.size() * static_cast<std::size_t>(times) / 8);
  List out;
  out.flavor = l.flavor;
  for (int64_t i = 0; i < times; ++i)
    out.items.insert(out.items.end(), l.items.begin(), l.items.end());
  return Value(std::move(out));
}

bool repeatable(const Value& v) {
  return v.is_string() || (v.is_list() && v.as_list().flavor <= Flavor::tuple);
}

void check_divisor(const Value& b) {
  if (b.as_double() == 0) raise("ZeroDivisionError", "division by zero");
}

}  // namespace

void check_size(double size) {
  if (size > kLargest) raise("MemoryError", "a template may not make values of more than 64 MB");
}

Value add(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    int64_t out;
    if (__builtin_add_overflow(a.as_integer(), b.as_integer(), &out)) overflow();
    return out;
  }
  if (a.is_numeric() && b.is_numeric()) return a.as_double() + b.as_double();
  if (a.is_string() && b.is_string()) {
    check_size(static_cast<double>(a.as_string().size() + b.as_string().size()));
    if (a.is_markup() || b.is_markup()) return Markup{markup_of(a) + markup_of(b)};
    return Value(a.as_string() + b.as_string());
  }
  if (a.is_list() && b.is_list() && a.as_list().flavor == b.as_list().flavor && repeatable(a)) {
    List out = a.as_list();
    check_size(16.0 * static_cast<double>(out.items.size() + b.as_list().items.size()));
    spend((out.items.size() + b.as_list().items.size()) / 8);
    out.items.insert(out.items.end(), b.as_list().items.begin(), b.as_list().items.end());
    return Value(std::move(out));
  }
  if (a.is_string() && !b.is_undefined())
    raise("TypeError", "can only concatenate str (not \"", type_name(b), "\") to str");
  mismatch("+", a, b);
}

Value subtract(const Value& a, const Value& b) {
  if (!a.is_numeric() || !b.is_numeric()) mismatch("-", a, b);
  if (a.is_float() || b.is_float()) return a.as_double() - b.as_double();
  int64_t out;
  if (__builtin_sub_overflow(a.as_integer(), b.as_integer(), &out)) overflow();
  return out;
}

Value multiply(const Value& a, const Value& b) {
  if (repeatable(a) && b.is_integral()) return repeated(a, b.as_integer());
  if (repeatable(b) && a.is_integral()) return repeated(b, a.as_integer());
  if (!a.is_numeric() || !b.is_numeric()) mismatch("*", a, b);
  if (a.is_float() || b.is_float()) return a.as_double() * b.as_double();
  int64_t out;
  if (__builtin_mul_overflow(a.as_integer(), b.as_integer(), &out)) overflow();
  return out;
}

Value divide(const Value& a, const Value& b) {
  if (!a.is_numeric() || !b.is_numeric()) mismatch("/", a, b);
  check_divisor(b);
  return a.as_double() / b.as_double();
}

Value floor_divide(const Value& a, const Value& b) {
  if (!a.is_numeric() || !b.is_numeric()) mismatch("//", a, b);
  check_divisor(b);
  if (a.is_float() || b.is_float()) return std::floor(a.as_double() / b.as_double());
  const int64_t x = a.as_integer(), y = b.as_integer();
  if (x == INT64_MIN && y == -1) overflow();
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

Value modulo(const Value& a, const Value& b) {
  if (a.is_markup()) return Markup{percent_format(a.as_string(), escaped_arguments(b))};
  if (a.is_string()) return Value(percent_format(a.as_string(), b));
  if (!a.is_numeric() || !b.is_numeric()) mismatch("%", a, b);
  check_divisor(b);
  if (a.is_float() || b.is_float()) {
    const double y = b.as_double(), r = std::fmod(a.as_double(), y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
  const int64_t x = a.as_integer(), y = b.as_integer();
  if (y == -1) return 0;
  const int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

Value power(const Value& a, const Value& b) {
  if (!a.is_numeric() || !b.is_numeric()) mismatch("** or pow()", a, b);
  if (a.is_float() || b.is_float() || b.as_integer() < 0)
    return std::pow(a.as_double(), b.as_double());
  int64_t out = 1, base = a.as_integer();
  for (int64_t e = b.as_integer(); e > 0; e >>= 1) {
    if (e & 1 && __builtin_mul_overflow(out, base, &out)) overflow();
    if (e > 1 && __builtin_mul_overflow(base, base, &base)) overflow();
  }
  return out;
}

Value negate(const Value& a) {
  if (a.is_float()) return -a.as_double();
  if (a.is_undefined()) raise_undefined(a);
  if (!a.is_integral()) raise("TypeError", "bad operand type for unary -: '", type_name(a), "'");
  if (a.as_integer() == INT64_MIN) overflow();
  return -a.as_integer();
}

bool contains(const Value& haystack, const Value& needle) {
  if (haystack.is_string()) {
    if (!needle.is_string())
      raise("TypeError", "'in <string>' requires string as left operand, not ", type_name(needle));
    return haystack.as_string().find(needle.as_string()) != std::string::npos;
  }
  if (haystack.is_dict()) {
    check_hashable(needle);
    return haystack.as_dict().find(needle) != nullptr;
  }
  if (haystack.is_undefined()) return false;
  if (!haystack.is_list())
    raise("TypeError", "argument of type '", type_name(haystack), "' is not iterable");
  const auto& items = haystack.as_list().items;
  return std::any_of(items.begin(), items.end(), [&](const Value& v) { return equal(v, needle); });
}

}  // namespace cupel::text::jinja
