// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_frame.h"
#include "text/jinja_library.h"

namespace cupel::text::jinja {

struct Expr {
  int line = 1;
  virtual ~Expr() = default;
  /// Counts a step, then does the work.
  Value eval(Frame& f) const;

 protected:
  virtual Value value(Frame& f) const = 0;
};
using ExprPtr = std::unique_ptr<Expr>;

enum class Flow { normal, break_loop, continue_loop };

struct Stmt {
  int line = 1;
  virtual ~Stmt() = default;
  Flow run(Frame& f) const;

 protected:
  virtual Flow body(Frame& f) const = 0;
};
using Block = std::vector<std::unique_ptr<Stmt>>;
Flow run_block(const Block& block, Frame& f);
/// What the block writes. Its variables are its own.
std::string captured(const Block& block, Frame& f);

// Expressions. ------------------------------------------------------------------------------------

struct Constant : Expr {
  Value constant;
  Value value(Frame&) const override { return constant; }
};
struct Name : Expr {
  std::string name;
  Value value(Frame& f) const override;
};
struct Sequence : Expr {
  std::vector<ExprPtr> items;
  Flavor flavor = Flavor::list;
  Value value(Frame& f) const override;
};
struct Mapping : Expr {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
  Value value(Frame& f) const override;
};
struct GetAttribute : Expr {
  ExprPtr of;
  std::string name;
  Value value(Frame& f) const override { return attribute(of->eval(f), name); }
};
struct GetItem : Expr {
  ExprPtr of, key;
  Value value(Frame& f) const override;
};
struct GetSlice : Expr {
  ExprPtr of, start, stop, step;  // null where left out
  Value value(Frame& f) const override;
};
struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;
  Arguments eval(Frame& f) const;
};
struct Call : Expr {
  ExprPtr callee;
  CallArguments arguments;
  Value value(Frame& f) const override;
};
struct FilterExpr : Expr {
  std::string name;
  const Filter* filter = nullptr;  // null: an error once it is reached
  ExprPtr input;                   // null in filter blocks
  CallArguments arguments;
  Value value(Frame& f) const override { return apply(f, input->eval(f)); }
  Value apply(Frame& f, const Value& v) const;
};
struct TestExpr : Expr {
  std::string name;
  const Test* test = nullptr;
  ExprPtr input;
  CallArguments arguments;
  bool inverted = false;
  Value value(Frame& f) const override;
};
struct Unary : Expr {
  enum Op { negative, positive, invert } op = invert;
  ExprPtr operand;
  Value value(Frame& f) const override;
};
struct Binary : Expr {
  Value (*op)(const Value&, const Value&) = nullptr;
  ExprPtr left, right;
  Value value(Frame& f) const override;
};
struct Logical : Expr {
  bool is_and = true;
  ExprPtr left, right;
  Value value(Frame& f) const override;
};
struct Comparison : Expr {
  enum Op { eq, ne, lt, le, gt, ge, in, not_in };
  ExprPtr first;
  std::vector<std::pair<Op, ExprPtr>> rest;
  Value value(Frame& f) const override;
};
struct Concat : Expr {
  std::vector<ExprPtr> parts;
  Value value(Frame& f) const override;
};
struct Conditional : Expr {
  ExprPtr condition, then, otherwise;  // otherwise may be null
  Value value(Frame& f) const override;
};

// Statements. -------------------------------------------------------------------------------------

/// Where a value goes: a name, namespace.attribute, or several targets that unpack it.
struct Target {
  std::string name, attribute;
  std::vector<Target> several;
  void assign(Frame& f, const Value& v) const;
};

struct Text : Stmt {
  std::string text;
  Flow body(Frame& f) const override { return f.write(text), Flow::normal; }
};
struct Output : Stmt {
  ExprPtr expr;
  Flow body(Frame& f) const override;
};
struct If : Stmt {
  std::vector<std::pair<ExprPtr, Block>> branches;  // the condition of `else` is null
  Flow body(Frame& f) const override;
};
struct For : Stmt {
  Target target;
  ExprPtr items, condition;  // condition may be null
  Block block, otherwise;
  bool recursive = false;
  Flow body(Frame& f) const override;
  void loop_over(Frame& f, const Value& items, int depth) const;
};
struct LoopControl : Stmt {
  Flow flow = Flow::break_loop;
  Flow body(Frame&) const override { return flow; }
};
struct Set : Stmt {
  Target target;
  ExprPtr expr;  // null: the block's text
  Block block;
  std::vector<std::unique_ptr<FilterExpr>> filters;
  Flow body(Frame& f) const override;
};
struct With : Stmt {
  std::vector<std::pair<Target, ExprPtr>> values;
  Block block;
  Flow body(Frame& f) const override;
};
struct FilterBlock : Stmt {
  std::vector<std::unique_ptr<FilterExpr>> filters;
  Block block;
  Flow body(Frame& f) const override;
};
/// {% generation %}: marks what the assistant said, for loss masks; the text is its body.
struct Plain : Stmt {
  Block block;
  Flow body(Frame& f) const override { return run_block(block, f); }
};
struct Macro : Stmt {
  std::string name;
  std::vector<std::pair<std::string, ExprPtr>> parameters;  // the default may be null
  Block block;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
  Flow body(Frame& f) const override;
  Value function(Frame& f) const;
};
struct CallBlock : Stmt {
  std::unique_ptr<Call> call;
  Macro caller;
  Flow body(Frame& f) const override;
};

}  // namespace cupel::text::jinja
