// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_parser.h"

#include <initializer_list>

namespace cupel::text::jinja {
namespace {

constexpr int kDeepestBlocks = 100;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block whole() {
    Block out = block({});
    if (!unknown_.empty()) syntax_error(unknown_[0].line, unknown_[0].what, " is not supported");
    if (now().kind != TokenKind::end) unexpected("the end of the template");
    return out;
  }

 private:
  using Ends = std::initializer_list<const char*>;

  // Statements up to a tag of one of these names, whose name is left to be read; for {}, up to the
  // end.
  Block block(Ends ends);
  std::unique_ptr<Stmt> statement(const std::string& tag);
  std::unique_ptr<Stmt> if_statement();
  std::unique_ptr<Stmt> for_statement();
  std::unique_ptr<Stmt> set_statement();
  std::unique_ptr<Stmt> with_statement();
  std::unique_ptr<Stmt> filter_block();
  std::unique_ptr<Stmt> macro_statement();
  std::unique_ptr<Stmt> call_statement();
  std::unique_ptr<Stmt> loop_control(Flow flow);
  std::vector<std::unique_ptr<FilterExpr>> filter_chain();
  void parameters(Macro& macro);
  void macro_body(Macro& macro, const char* end);
  Target target(bool with_namespace);
  Target one_target(bool with_namespace);
  void tag_end() {
    if (now().kind != TokenKind::block_end) unexpected("'%}'");
    take();
  }

  int loops_ = 0, blocks_ = 0;
};

Block Parser::block(Ends ends) {
  if (++blocks_ > kDeepestBlocks)
    syntax_error(now().line, "blocks nest deeper than ", kDeepestBlocks);
  Block out;
  for (;;) {
    const TokenKind kind = now().kind;
    links_ = 0;
    if (kind == TokenKind::end) {
      if (ends.size() > 0) unexpected(cat("'{% ", *(ends.end() - 1), " %}'").c_str());
      break;
    }
    if (kind == TokenKind::data) {
      auto text = node<Text>();
      text->text = take().text;
      out.push_back(std::move(text));
    } else if (kind == TokenKind::variable_begin) {
      auto output = node<Output>();
      take();
      output->expr = expression(Form::tuple);
      if (now().kind != TokenKind::variable_end) unexpected("'}}'");
      take();
      out.push_back(std::move(output));
    } else {
      take();
      bool ended = false;
      for (const char* end : ends) ended |= is_word(end);
      if (ended) break;
      const std::string tag = expect_name("the name of a tag");
      out.push_back(statement(tag));
    }
  }
  --blocks_;
  return out;
}

std::unique_ptr<Stmt> Parser::statement(const std::string& tag) {
  if (tag == "if") return if_statement();
  if (tag == "for") return for_statement();
  if (tag == "set") return set_statement();
  if (tag == "macro") return macro_statement();
  if (tag == "call") return call_statement();
  if (tag == "filter") return filter_block();
  if (tag == "with") return with_statement();
  if (tag == "break") return loop_control(Flow::break_loop);
  if (tag == "continue") return loop_control(Flow::continue_loop);
  if (tag == "generation") {
    auto out = node<Plain>();
    tag_end();
    out->block = block({"endgeneration"});
    take();
    tag_end();
    return out;
  }
  syntax_error(now().line, "tag '", tag, "' is not supported");
}

std::unique_ptr<Stmt> Parser::if_statement() {
  auto out = node<If>();
  ExprPtr condition = expression(Form::tuple_no_condition);
  ++conditional_;
  for (;;) {
    tag_end();
    out->branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
    const std::string tag = take().text;
    if (tag == "elif") {
      condition = expression(Form::tuple_no_condition);
      continue;
    }
    if (tag == "else") {
      tag_end();
      out->branches.emplace_back(nullptr, block({"endif"}));
      take();
    }
    break;
  }
  --conditional_;
  tag_end();
  return out;
}

std::unique_ptr<Stmt> Parser::for_statement() {
  auto out = node<For>();
  out->target = target(false);
  if (!take_word("in")) unexpected("'in'");
  out->items = expression(Form::tuple_no_condition);
  if (take_word("if")) out->condition = expression(Form::whole);
  out->recursive = take_word("recursive");
  tag_end();
  ++loops_;
  out->block = block({"endfor", "else"});
  --loops_;
  if (take().text == "else") {
    tag_end();
    out->otherwise = block({"endfor"});
    take();
  }
  tag_end();
  return out;
}

std::unique_ptr<Stmt> Parser::loop_control(Flow flow) {
  if (loops_ == 0) syntax_error(now().line, "'break' and 'continue' stand outside of a loop");
  auto out = node<LoopControl>();
  out->flow = flow;
  tag_end();
  return out;
}

Target Parser::one_target(bool with_namespace) {
  Target out;
  if (take_op("(")) {
    out = target(with_namespace);
    expect_op(")");
    return out;
  }
  out.name = expect_name("the name of a variable");
  if (with_namespace && take_op(".")) out.attribute = expect_name("the name of an attribute");
  for (const char* constant : {"true", "false", "none", "True", "False", "None"})
    if (out.name == constant) syntax_error(now().line, "cannot assign to '", constant, "'");
  return out;
}

Target Parser::target(bool with_namespace) {
  Target first = one_target(with_namespace);
  if (!is_op(",")) return first;
  Target out;
  out.several.push_back(std::move(first));
  while (take_op(",") && !is_word("in") && !is_op("=") && !at_tuple_end())
    out.several.push_back(one_target(with_namespace));
  return out;
}

std::vector<std::unique_ptr<FilterExpr>> Parser::filter_chain() {
  std::vector<std::unique_ptr<FilterExpr>> out;
  do out.push_back(filter(nullptr));
  while (take_op("|"));
  return out;
}

std::unique_ptr<Stmt> Parser::set_statement() {
  auto out = node<Set>();
  out->target = target(true);
  if (take_op("=")) {
    out->expr = expression(Form::tuple);
    tag_end();
    return out;
  }
  if (take_op("|")) out->filters = filter_chain();
  tag_end();
  out->block = block({"endset"});
  take();
  tag_end();
  return out;
}

std::unique_ptr<Stmt> Parser::with_statement() {
  auto out = node<With>();
  while (now().kind != TokenKind::block_end) {
    if (!out->values.empty()) expect_op(",");
    Target to = one_target(false);
    expect_op("=");
    out->values.emplace_back(std::move(to), expression(Form::whole));
  }
  tag_end();
  out->block = block({"endwith"});
  take();
  tag_end();
  return out;
}

std::unique_ptr<Stmt> Parser::filter_block() {
  auto out = node<FilterBlock>();
  out->filters = filter_chain();
  tag_end();
  out->block = block({"endfilter"});
  take();
  tag_end();
  return out;
}

void Parser::parameters(Macro& macro) {
  expect_op("(");
  while (!take_op(")")) {
    if (!macro.parameters.empty()) {
      expect_op(",");
      if (take_op(")")) break;
    }
    std::string name = expect_name("the name of a parameter");
    ExprPtr fallback;
    if (take_op("="))
      fallback = expression(Form::whole);
    else if (!macro.parameters.empty() && macro.parameters.back().second)
      syntax_error(now().line, "a parameter without default stands behind one with default");
    macro.parameters.emplace_back(std::move(name), std::move(fallback));
  }
}

void Parser::macro_body(Macro& macro, const char* end) {
  tag_end();
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(&macro);
  macro.block = block({end});
  macros_.pop_back();
  loops_ = loops;
  take();
  tag_end();
}

std::unique_ptr<Stmt> Parser::macro_statement() {
  auto out = node<Macro>();
  out->name = expect_name("the name of a macro");
  parameters(*out);
  macro_body(*out, "endmacro");
  return out;
}

std::unique_ptr<Stmt> Parser::call_statement() {
  auto out = node<CallBlock>();
  out->caller.name = "caller";
  if (is_op("(")) parameters(out->caller);
  ExprPtr e = expression(Form::whole);
  auto* call = dynamic_cast<Call*>(e.get());
  if (!call) syntax_error(out->line, "'call' must be followed by a call");
  e.release();
  out->call.reset(call);
  macro_body(out->caller, "endcall");
  return out;
}

}  // namespace

Block parse(std::string_view source, Dialect dialect) {
  return Parser(lex(source, dialect)).whole();
}

}  // namespace cupel::text::jinja
