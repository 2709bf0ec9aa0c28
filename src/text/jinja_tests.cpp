// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <map>

#include "text/jinja_library.h"
#include "text/jinja_operators.h"

namespace cupel::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

bool order(A given, V v, bool (*holds)(int)) {
  return holds(compare(v, Bound("test", given, {"other"}).at(0)));
}

bool is_remainder(V v, V by, int64_t wanted) {
  return equal(modulo(v, by), Value(wanted));
}

bool is_iterable(V v) {
  return v.is_undefined() || v.is_string() || v.is_list() || v.is_dict();
}

bool is_sequence(V v) {
  return v.is_undefined() || v.is_string() || v.is_dict() ||
         (v.is_list() && v.as_list().flavor <= Flavor::range);
}

bool has_case(Frame& f, V v, const char* how) {
  return truthy(method(Value(to_text(v)), how)->call(f, {}));
}

bool eq(Frame&, V v, A a) {
  return equal(v, Bound("eq", a, {"other"}).at(0));
}
bool ne(Frame&, V v, A a) {
  return !equal(v, Bound("ne", a, {"other"}).at(0));
}
bool lt(Frame&, V v, A a) {
  return order(a, v, [](int c) { return c < 0; });
}
bool le(Frame&, V v, A a) {
  return order(a, v, [](int c) { return c <= 0; });
}
bool gt(Frame&, V v, A a) {
  return order(a, v, [](int c) { return c > 0; });
}
bool ge(Frame&, V v, A a) {
  return order(a, v, [](int c) { return c >= 0; });
}

}  // namespace

const Test* find_test(std::string_view name) {
  static const std::map<std::string_view, Test> table = {
      {"defined", [](Frame&, V v, A) { return !v.is_undefined(); }},
      {"undefined", [](Frame&, V v, A) { return v.is_undefined(); }},
      {"none", [](Frame&, V v, A) { return v.is_none(); }},
      {"boolean", [](Frame&, V v, A) { return v.is_boolean(); }},
      {"true", [](Frame&, V v, A) { return v.is_boolean() && v.as_integer(); }},
      {"false", [](Frame&, V v, A) { return v.is_boolean() && !v.as_integer(); }},
      {"integer", [](Frame&, V v, A) { return v.is_integer() || v.is_big(); }},
      {"float", [](Frame&, V v, A) { return v.is_float(); }},
      {"number", [](Frame&, V v, A) { return v.is_numeric() || v.is_big(); }},
      {"string", [](Frame&, V v, A) { return v.is_string(); }},
      {"mapping", [](Frame&, V v, A) { return v.is_dict(); }},
      {"sequence", [](Frame&, V v, A) { return is_sequence(v); }},
      {"iterable", [](Frame&, V v, A) { return is_iterable(v); }},
      {"callable", [](Frame&, V v, A) { return v.is_object() && v.as_object().callable(); }},
      {"lower", [](Frame& f, V v, A) { return has_case(f, v, "islower"); }},
      {"upper", [](Frame& f, V v, A) { return has_case(f, v, "isupper"); }},
      {"odd", [](Frame&, V v, A) { return is_remainder(v, Value(2), 1); }},
      {"even", [](Frame&, V v, A) { return is_remainder(v, Value(2), 0); }},
      {"divisibleby",
       [](Frame&, V v, A a) { return is_remainder(v, Bound("divisibleby", a, {"num"}).at(0), 0); }},
      {"in", [](Frame&, V v, A a) { return contains(Bound("in", a, {"seq"}).at(0), v); }},
      {"sameas",
       [](Frame&, V v, A a) {
         V other = Bound("sameas", a, {"other"}).at(0);
         return v.same(other) || (v.is_string() && other.is_string() && equal(v, other));
       }},
      {"escaped", [](Frame&, V, A) { return false; }},
      {"filter", [](Frame&, V v, A) { return v.is_string() && find_filter(v.as_string()); }},
      {"test", [](Frame&, V v, A) { return v.is_string() && find_test(v.as_string()); }},
      {"eq", eq},
      {"equalto", eq},
      {"==", eq},
      {"ne", ne},
      {"!=", ne},
      {"lt", lt},
      {"lessthan", lt},
      {"<", lt},
      {"le", le},
      {"<=", le},
      {"gt", gt},
      {"greaterthan", gt},
      {">", gt},
      {"ge", ge},
      {">=", ge},
  };
  const auto at = table.find(name);
  return at == table.end() ? nullptr : &at->second;
}

}  // namespace cupel::text::jinja
