// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_nodes.h"

namespace cupel::text::jinja {
namespace {

Value with_filters(const std::vector<std::unique_ptr<FilterExpr>>& filters, Frame& f, Value v) {
  for (const auto& filter : filters) v = filter->apply(f, v);
  return v;
}

/// The variable `loop`.
class Loop : public Object {
 public:
  Loop(const For& statement, Value items, const std::shared_ptr<Scope>& around, int level)
      : statement_(statement),
        list_(std::move(items)),
        items_(list_.as_list().items),
        around_(around),
        level_(level) {}
  int depth() const override { return list_.as_list().depth; }
  std::string type_name() const override { return "LoopContext"; }
  bool callable() const override { return statement_.recursive; }
  Value call(Frame& f, const Arguments& arguments) override;
  Value attribute(const std::string& name) const override;
  void go_to(std::size_t i) { at_ = i; }

 private:
  Value cycle() const;
  Value changed() const;

  const For& statement_;
  Value list_;
  const std::vector<Value>& items_;  // of list_
  std::weak_ptr<Scope> around_;
  int level_;
  std::size_t at_ = 0;
  // What changed() saw, as text.
  std::shared_ptr<std::string> last_ = std::make_shared<std::string>();
};

Value Loop::call(Frame& f, const Arguments& arguments) {
  const auto around = around_.lock();
  if (!statement_.recursive || !around) raise("TypeError", "the loop is not marked as recursive");
  std::string text;
  Frame inner{f.run, around, &text};
  statement_.loop_over(inner, Bound("loop", arguments, {"iterable"}).at(0), level_ + 1);
  return Value(std::move(text));
}

Value Loop::attribute(const std::string& name) const {
  const auto at = static_cast<int64_t>(at_), n = static_cast<int64_t>(items_.size());
  if (name == "index") return at + 1;
  if (name == "index0") return at;
  if (name == "revindex") return n - at;
  if (name == "revindex0") return n - at - 1;
  if (name == "first") return at == 0;
  if (name == "last") return at == n - 1;
  if (name == "length") return n;
  if (name == "depth") return level_ + 1;
  if (name == "depth0") return level_;
  if (name == "previtem")
    return at > 0 ? items_[at_ - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return at + 1 < n ? items_[at_ + 1] : Value::undefined("there is no next item");
  if (name == "cycle") return cycle();
  if (name == "changed") return changed();
  return Object::attribute(name);
}

Value Loop::cycle() const {
  return std::make_shared<Function>("cycle", [at = at_](Frame&, const Arguments& a) {
    if (a.positional.empty()) raise("TypeError", "no items for cycling given");
    return a.positional[at % a.positional.size()];
  });
}

Value Loop::changed() const {
  return std::make_shared<Function>("changed", [last = last_](Frame&, const Arguments& a) {
    const std::string now = representation(Value(List{a.positional, Flavor::tuple}));
    return Value(std::exchange(*last, now) != now);
  });
}

/// A macro with the scope it was defined in.
class MacroFunction : public Object {
 public:
  MacroFunction(const Macro& macro, const std::shared_ptr<Scope>& scope)
      : macro_(macro), scope_(scope) {}
  std::string type_name() const override { return "Macro"; }
  bool callable() const override { return true; }
  Value call(Frame& f, const Arguments& given) override;
  Value attribute(const std::string& name) const override {
    if (name == "name") return macro_.name;
    return Object::attribute(name);
  }

 private:
  void bind(Frame& f, const Arguments& given) const;
  void bind_extra(Frame& f, const Arguments& given) const;
  bool has_parameter(const std::string& name) const {
    for (const auto& p : macro_.parameters)
      if (p.first == name) return true;
    return false;
  }

  const Macro& macro_;
  std::weak_ptr<Scope> scope_;  // which may hold this macro
};

Value MacroFunction::call(Frame& f, const Arguments& given) {
  const auto scope = scope_.lock();
  if (!scope)
    raise("TemplateRuntimeError", "macro '", macro_.name,
          "' was kept longer than the block it stands in");
  std::string text;
  Frame inner{f.run, std::make_shared<Scope>(scope), &text};
  bind(inner, given);
  run_block(macro_.block, inner);
  return Value(std::move(text));
}

void MacroFunction::bind(Frame& f, const Arguments& given) const {
  bind_extra(f, given);
  for (std::size_t i = 0; i < macro_.parameters.size(); ++i) {
    const auto& [name, fallback] = macro_.parameters[i];
    const Value* value = i < given.positional.size() ? &given.positional[i] : nullptr;
    for (const auto& [n, v] : given.named) {
      if (n != name) continue;
      if (value)
        raise("TypeError", "macro '", macro_.name, "' got two values for argument '", name, "'");
      value = &v;
    }
    f.scope->set(name, value ? *value
                       : fallback
                           ? fallback->eval(f)
                           : Value::undefined(cat("parameter '", name, "' was not provided")));
  }
}

void MacroFunction::bind_extra(Frame& f, const Arguments& given) const {
  List rest{{}, Flavor::tuple};
  for (std::size_t i = macro_.parameters.size(); i < given.positional.size(); ++i)
    rest.items.push_back(given.positional[i]);
  if (!rest.items.empty() && !macro_.uses_varargs)
    raise("TypeError", "macro '", macro_.name, "' takes not more than ", macro_.parameters.size(),
          " argument(s)");
  if (macro_.uses_varargs) f.scope->set("varargs", Value(std::move(rest)));
  if (macro_.uses_caller && !has_parameter("caller"))
    f.scope->set("caller", Value::undefined("No caller defined"));
  Dict named;
  for (const auto& [name, v] : given.named) {
    if (has_parameter(name)) continue;
    if (name == "caller" && macro_.uses_caller)
      f.scope->set(name, v);
    else if (macro_.uses_kwargs)
      named.set(Value(name), v);
    else
      raise("TypeError", "macro '", macro_.name, "' takes no keyword argument '", name, "'");
  }
  if (macro_.uses_kwargs) f.scope->set("kwargs", Value(std::move(named)));
}

}  // namespace

Flow Stmt::run(Frame& f) const {
  DepthGuard guard(f.run);
  f.run.step(line);
  return body(f);
}

Flow run_block(const Block& block, Frame& f) {
  for (const auto& statement : block)
    if (const Flow flow = statement->run(f); flow != Flow::normal) return flow;
  return Flow::normal;
}

std::string captured(const Block& block, Frame& f) {
  std::string text;
  Frame inner{f.run, std::make_shared<Scope>(f.scope), &text};
  run_block(block, inner);
  return text;
}

void Target::assign(Frame& f, const Value& v) const {
  if (!several.empty()) {
    const std::vector<Value> values = iterate(v);
    if (values.size() != several.size())
      raise("ValueError", "cannot unpack ", values.size(), " values into ", several.size());
    for (std::size_t i = 0; i < values.size(); ++i) several[i].assign(f, values[i]);
    return;
  }
  if (attribute.empty()) return f.scope->set(name, v);
  const Value* object = f.scope->find(name);
  auto* space =
      object && object->is_object() ? dynamic_cast<Namespace*>(&object->as_object()) : nullptr;
  if (!space) raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
  space->values.set(Value(attribute), v);
}

Flow Output::body(Frame& f) const {
  const Value v = expr->eval(f);
  if (f.run.strict && v.is_undefined()) raise_undefined(v);
  f.write(to_text(v));
  return Flow::normal;
}

Flow If::body(Frame& f) const {
  for (const auto& [condition, block] : branches)
    if (!condition || truthy(condition->eval(f))) return run_block(block, f);
  return Flow::normal;
}

Flow For::body(Frame& f) const {
  loop_over(f, items->eval(f), 0);
  return Flow::normal;
}

void For::loop_over(Frame& f, const Value& over, int depth) const {
  std::vector<Value> chosen = iterate(over);
  if (condition)
    std::erase_if(chosen, [&](const Value& v) {
      Frame inner = f.inner();
      target.assign(inner, v);
      return !truthy(condition->eval(inner));
    });
  if (chosen.empty()) {
    Frame inner = f.inner();
    run_block(otherwise, inner);
    return;
  }
  const auto loop =
      std::make_shared<Loop>(*this, Value(List{chosen, Flavor::tuple}), f.scope, depth);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    f.run.step(line);
    Frame inner = f.inner();
    loop->go_to(i);
    inner.scope->set("loop", Value(loop));
    target.assign(inner, chosen[i]);
    if (run_block(block, inner) == Flow::break_loop) break;
  }
}

Flow Set::body(Frame& f) const {
  target.assign(f, expr ? expr->eval(f) : with_filters(filters, f, Value(captured(block, f))));
  return Flow::normal;
}

Flow With::body(Frame& f) const {
  Frame inner = f.inner();
  for (const auto& [to, e] : values) to.assign(inner, e->eval(f));
  return run_block(block, inner);
}

Flow FilterBlock::body(Frame& f) const {
  f.write(to_text(with_filters(filters, f, Value(captured(block, f)))));
  return Flow::normal;
}

Value Macro::function(Frame& f) const {
  return std::make_shared<MacroFunction>(*this, f.scope);
}

Flow Macro::body(Frame& f) const {
  f.scope->set(name, function(f));
  return Flow::normal;
}

Flow CallBlock::body(Frame& f) const {
  Arguments given = call->arguments.eval(f);
  given.named.emplace_back("caller", caller.function(f));
  f.write(to_text(call_value(f, call->callee->eval(f), given)));
  return Flow::normal;
}

}  // namespace cupel::text::jinja
