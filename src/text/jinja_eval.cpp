// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_nodes.h"
#include "text/jinja_operators.h"

namespace cupel::text::jinja {

Value Expr::eval(Frame& f) const {
  DepthGuard guard(f.run);
  f.run.step(line);
  return value(f);
}

Value Name::value(Frame& f) const {
  if (const Value* v = f.scope->find(name)) return *v;
  return Value::undefined(cat("'", name, "' is undefined"));
}

Value Sequence::value(Frame& f) const {
  List out;
  out.flavor = flavor;
  for (const auto& e : items) out.items.push_back(e->eval(f));
  return Value(std::move(out));
}

Value Mapping::value(Frame& f) const {
  Dict out;
  for (const auto& [key, v] : items) {
    Value k = key->eval(f);
    out.set(std::move(k), v->eval(f));
  }
  return Value(std::move(out));
}

Value GetItem::value(Frame& f) const {
  const Value object = of->eval(f);
  return item(object, key->eval(f));
}

Value GetSlice::value(Frame& f) const {
  const Value object = of->eval(f);
  const auto bound = [&](const ExprPtr& e) { return e ? e->eval(f) : Value(nullptr); };
  const Value from = bound(start), to = bound(stop);
  return slice(object, from, to, bound(step));
}

Arguments CallArguments::eval(Frame& f) const {
  Arguments out;
  for (const auto& e : positional) out.positional.push_back(e->eval(f));
  if (star)
    for (Value& v : iterate(star->eval(f))) out.positional.push_back(std::move(v));
  for (const auto& [name, e] : named) out.named.emplace_back(name, e->eval(f));
  if (!double_star) return out;
  const Value more = double_star->eval(f);
  if (!more.is_dict())
    raise("TypeError", "argument after ** must be a mapping, not ", type_name(more));
  for (const auto& [key, v] : more.as_dict().items) out.named.emplace_back(to_text(key), v);
  return out;
}

Value call_value(Frame& frame, const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) raise_undefined(callee);
  if (!callee.is_object()) raise("TypeError", "'", type_name(callee), "' object is not callable");
  DepthGuard guard(frame.run);
  return callee.as_object().call(frame, arguments);
}

Value Call::value(Frame& f) const {
  const Value function = callee->eval(f);
  const Arguments given = arguments.eval(f);
  f.run.line = line;
  return call_value(f, function, given);
}

Value FilterExpr::apply(Frame& f, const Value& v) const {
  const Arguments given = arguments.eval(f);
  f.run.line = line;
  spend_on(v);
  if (!filter) raise("TemplateRuntimeError", "filter '", name, "' is not supported");
  return (*filter)(f, v, given);
}

Value TestExpr::value(Frame& f) const {
  const Value v = input->eval(f);
  const Arguments given = arguments.eval(f);
  f.run.line = line;
  spend_on(v);
  for (const Value& other : given.positional) spend_on(other);
  if (!test) raise("TemplateRuntimeError", "test '", name, "' is not supported");
  return (*test)(f, v, given) != inverted;
}

Value Unary::value(Frame& f) const {
  const Value v = operand->eval(f);
  if (op == invert) return !truthy(v);
  const Value minus = negate(v);
  return op == negative ? minus : negate(minus);
}

Value Binary::value(Frame& f) const {
  const Value a = left->eval(f);
  const Value b = right->eval(f);
  f.run.line = line;
  spend_on(a);
  spend_on(b);
  return op(a, b);
}

Value Logical::value(Frame& f) const {
  const Value a = left->eval(f);
  return truthy(a) == is_and ? right->eval(f) : a;
}

Value Comparison::value(Frame& f) const {
  Value a = first->eval(f);
  for (const auto& [op, e] : rest) {
    Value b = e->eval(f);
    spend_on(a);
    spend_on(b);
    bool holds = false;
    switch (op) {
      case eq:
        holds = equal(a, b);
        break;
      case ne:
        holds = !equal(a, b);
        break;
      case lt:
        holds = compare(a, b) < 0;
        break;
      case le:
        holds = compare(a, b) <= 0;
        break;
      case gt:
        holds = compare(a, b) > 0;
        break;
      case ge:
        holds = compare(a, b) >= 0;
        break;
      case in:
        holds = contains(b, a);
        break;
      case not_in:
        holds = !contains(b, a);
        break;
    }
    if (!holds) return false;
    a = std::move(b);
  }
  return true;
}

Value Concat::value(Frame& f) const {
  std::string out;
  for (const auto& e : parts) {
    const Value v = e->eval(f);
    if (v.is_string())
      out += v.as_string();
    else
      out += to_text(v);
  }
  check_size(static_cast<double>(out.size()));
  spend(out.size() / 16);
  return Value(std::move(out));
}

Value Conditional::value(Frame& f) const {
  if (truthy(condition->eval(f))) return then->eval(f);
  if (otherwise) return otherwise->eval(f);
  return Value::undefined(
      "the inline if-expression evaluated to false and no else section was defined.");
}

}  // namespace cupel::text::jinja
