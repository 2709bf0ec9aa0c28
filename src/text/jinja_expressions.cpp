// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Expressions, from the weakest binding to the strongest:
//   a if b else c | or | and | not | comparisons, in | + - | ~ | * / // % | ** | unary - + |
//   postfix, filters, tests

#include <charconv>
#include <cstdlib>

#include "text/jinja_operators.h"
#include "text/jinja_parser.h"

namespace cupel::text::jinja {
namespace {

constexpr int kDeepest = 200;
constexpr int kMostLinks = 1000;

struct Deeper {
  Deeper(int& depth, int line) : depth_(depth) {
    if (++depth_ > kDeepest) syntax_error(line, "expressions nest deeper than ", kDeepest);
  }
  ~Deeper() { --depth_; }
  int& depth_;
};

const char* kind_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::data:
      return "template text";
    case TokenKind::block_begin:
      return "'{%'";
    case TokenKind::block_end:
      return "'%}'";
    case TokenKind::variable_begin:
      return "'{{'";
    case TokenKind::variable_end:
      return "'}}'";
    case TokenKind::end:
      return "the end of the template";
    default:
      return "";
  }
}

}  // namespace

void ExpressionParser::unexpected(const char* wanted) const {
  const std::string found =
      *kind_name(now().kind) ? kind_name(now().kind) : cat("'", now().text, "'");
  syntax_error(now().line, "expected ", wanted, ", found ", found);
}

void ExpressionParser::link() {
  if (++links_ > kMostLinks)
    syntax_error(now().line, "a tag has more than ", kMostLinks, " operators");
}

void ExpressionParser::expect_op(const char* op) {
  if (!take_op(op)) unexpected(cat("'", op, "'").c_str());
}

std::string ExpressionParser::expect_name(const char* what) {
  if (now().kind != TokenKind::name) unexpected(what);
  return take().text;
}

bool ExpressionParser::at_tuple_end() const {
  return now().kind == TokenKind::variable_end || now().kind == TokenKind::block_end || is_op(")");
}

ExprPtr ExpressionParser::expression(Form form) {
  const bool conditional = form == Form::whole || form == Form::tuple;
  ExprPtr first = condition(conditional);
  const bool tuple = form == Form::tuple || form == Form::tuple_no_condition;
  return tuple && is_op(",") ? tuple_rest(std::move(first), conditional) : std::move(first);
}

ExprPtr ExpressionParser::tuple_rest(ExprPtr first, bool conditional) {
  auto out = node<Sequence>();
  out->flavor = Flavor::tuple;
  out->items.push_back(std::move(first));
  while (take_op(",") && !at_tuple_end() && !is_word("in") && !is_word("recursive"))
    out->items.push_back(condition(conditional));
  return out;
}

ExprPtr ExpressionParser::condition(bool conditional) {
  const Deeper guard(depth_, now().line);
  const std::size_t unknown = unknown_.size();
  ExprPtr e = logical_or();
  while (conditional && is_word("if")) {
    auto out = node<Conditional>();
    link();
    take();
    unknown_.resize(unknown);  // that was said under a condition
    ++conditional_;
    out->then = std::move(e);
    out->condition = logical_or();
    if (take_word("else")) out->otherwise = condition(true);
    --conditional_;
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::logical_or() {
  ExprPtr e = logical_and();
  while (is_word("or")) {
    auto out = node<Logical>();
    link();
    take();
    out->is_and = false;
    out->left = std::move(e);
    out->right = logical_and();
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::logical_and() {
  ExprPtr e = logical_not();
  while (is_word("and")) {
    auto out = node<Logical>();
    link();
    take();
    out->left = std::move(e);
    out->right = logical_not();
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::logical_not() {
  if (!is_word("not")) return comparison();
  const Deeper guard(depth_, now().line);
  auto out = node<Unary>();
  take();
  out->operand = logical_not();
  return out;
}

ExprPtr ExpressionParser::comparison() {
  auto out = node<Comparison>();
  out->first = sum();
  for (;;) {
    using Op = Comparison::Op;
    Op op;
    if (take_op("=="))
      op = Op::eq;
    else if (take_op("!="))
      op = Op::ne;
    else if (take_op("<="))
      op = Op::le;
    else if (take_op("<"))
      op = Op::lt;
    else if (take_op(">="))
      op = Op::ge;
    else if (take_op(">"))
      op = Op::gt;
    else if (take_word("in"))
      op = Op::in;
    else if (is_word("not") && after().kind == TokenKind::name && after().text == "in")
      take(), take(), op = Op::not_in;
    else
      break;
    out->rest.emplace_back(op, sum());
  }
  if (out->rest.empty()) return std::move(out->first);
  return out;
}

ExprPtr ExpressionParser::sum() {
  ExprPtr e = concat();
  while (is_op("+") || is_op("-")) {
    auto out = node<Binary>();
    link();
    out->op = is_op("+") ? add : subtract;
    take();
    out->left = std::move(e);
    out->right = concat();
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::concat() {
  ExprPtr e = product();
  if (!is_op("~")) return e;
  auto out = node<Concat>();
  out->parts.push_back(std::move(e));
  while (take_op("~")) out->parts.push_back(product());
  return out;
}

ExprPtr ExpressionParser::product() {
  ExprPtr e = power_of();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    auto out = node<Binary>();
    link();
    out->op = is_op("*") ? multiply : is_op("/") ? divide : is_op("//") ? floor_divide : modulo;
    take();
    out->left = std::move(e);
    out->right = power_of();
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::power_of() {
  ExprPtr e = unary(true);
  while (is_op("**")) {
    auto out = node<Binary>();
    link();
    take();
    out->op = power;
    out->left = std::move(e);
    out->right = unary(true);
    e = std::move(out);
  }
  return e;
}

ExprPtr ExpressionParser::unary(bool with_filters) {
  const Deeper guard(depth_, now().line);
  ExprPtr e;
  if (is_op("-") || is_op("+")) {
    auto out = node<Unary>();
    out->op = is_op("-") ? Unary::negative : Unary::positive;
    take();
    out->operand = unary(false);
    e = std::move(out);
  } else {
    e = primary();
  }
  e = postfix(std::move(e));
  return with_filters ? filters_and_tests(std::move(e)) : std::move(e);
}

ExprPtr ExpressionParser::primary() {
  switch (now().kind) {
    case TokenKind::name:
      return name();
    case TokenKind::integer:
    case TokenKind::floating:
      return number();
    case TokenKind::string: {
      auto out = node<Constant>();
      std::string text;
      while (now().kind == TokenKind::string) text += take().text;
      out->constant = Value(text);
      return out;
    }
    default:
      break;
  }
  if (is_op("(")) return parenthesis();
  if (is_op("[")) return list();
  if (is_op("{")) return mapping();
  unexpected("an expression");
}

ExprPtr ExpressionParser::name() {
  const std::string& word = now().text;
  const bool yes = word == "true" || word == "True", no = word == "false" || word == "False";
  if (yes || no || word == "none" || word == "None") {
    auto out = node<Constant>();
    out->constant = yes || no ? Value(yes) : Value(nullptr);
    take();
    return out;
  }
  auto out = node<Name>();
  out->name = take().text;
  for (Macro* macro : macros_) {
    macro->uses_caller |= out->name == "caller";
    macro->uses_varargs |= out->name == "varargs";
    macro->uses_kwargs |= out->name == "kwargs";
  }
  return out;
}

ExprPtr ExpressionParser::number() {
  auto out = node<Constant>();
  const LexToken token = take();
  const char *begin = token.text.data(), *end = begin + token.text.size();
  int64_t integer = 0;
  double number = 0;
  if (token.kind == TokenKind::floating)
    number = std::from_chars(begin, end, number).ec == std::errc() ? number
                                                                   : std::strtod(begin, nullptr);
  else if (std::from_chars(begin, end, integer).ec != std::errc())
    out->constant = BigInteger{token.text};
  if (token.kind == TokenKind::floating)
    out->constant = number;
  else if (out->constant.is_undefined())
    out->constant = integer;
  return out;
}

ExprPtr ExpressionParser::list() {
  auto out = node<Sequence>();
  expect_op("[");
  while (!take_op("]")) {
    if (!out->items.empty()) {
      expect_op(",");
      if (take_op("]")) break;
    }
    out->items.push_back(expression(Form::whole));
  }
  return out;
}

ExprPtr ExpressionParser::mapping() {
  auto out = node<Mapping>();
  expect_op("{");
  while (!take_op("}")) {
    if (!out->items.empty()) {
      expect_op(",");
      if (take_op("}")) break;
    }
    ExprPtr key = expression(Form::whole);
    expect_op(":");
    out->items.emplace_back(std::move(key), expression(Form::whole));
  }
  return out;
}

ExprPtr ExpressionParser::parenthesis() {
  auto empty = node<Sequence>();
  empty->flavor = Flavor::tuple;
  expect_op("(");
  if (take_op(")")) return empty;
  ExprPtr e = expression(Form::tuple);
  expect_op(")");
  return e;
}

ExprPtr ExpressionParser::postfix(ExprPtr e) {
  for (;;) {
    if (is_op(".") || is_op("[") || is_op("(")) link();
    if (is_op(".") || is_op("[")) {
      e = subscript(std::move(e));
    } else if (is_op("(")) {
      auto out = node<Call>();
      out->callee = std::move(e);
      out->arguments = call_arguments();
      e = std::move(out);
    } else {
      return e;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr of) {
  if (is_op("[")) return bracket(std::move(of));
  expect_op(".");
  if (now().kind == TokenKind::name) {
    auto out = node<GetAttribute>();
    out->of = std::move(of);
    out->name = take().text;
    return out;
  }
  if (now().kind != TokenKind::integer) unexpected("a name or number behind '.'");
  auto out = node<GetItem>();
  out->of = std::move(of);
  out->key = number();
  return out;
}

ExprPtr ExpressionParser::bracket(ExprPtr of) {
  auto cut = node<GetSlice>();
  expect_op("[");
  if (!is_op(":")) cut->start = expression(Form::whole);
  if (!is_op(":")) {
    auto out = node<GetItem>();
    out->of = std::move(of);
    out->key = is_op(",") ? tuple_rest(std::move(cut->start), true) : std::move(cut->start);
    expect_op("]");
    return out;
  }
  take();
  if (!is_op(":") && !is_op("]")) cut->stop = expression(Form::whole);
  if (take_op(":") && !is_op("]")) cut->step = expression(Form::whole);
  cut->of = std::move(of);
  expect_op("]");
  return cut;
}

CallArguments ExpressionParser::call_arguments() {
  CallArguments out;
  expect_op("(");
  bool first = true;
  while (!take_op(")")) {
    if (!std::exchange(first, false)) {
      expect_op(",");
      if (take_op(")")) break;
    }
    const bool named =
        now().kind == TokenKind::name && after().kind == TokenKind::op && after().text == "=";
    if (is_op("*") || is_op("**")) {
      const bool twice = is_op("**");
      take();
      (twice ? out.double_star : out.star) = expression(Form::whole);
    } else if (named) {
      std::string key = take().text;
      take();
      out.named.emplace_back(std::move(key), expression(Form::whole));
    } else {
      if (!out.named.empty() || out.double_star)
        syntax_error(now().line, "a positional argument stands behind a named one");
      out.positional.push_back(expression(Form::whole));
    }
  }
  return out;
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr e) {
  for (;;) {
    if (is_op("|") || is_op("(") || is_word("is")) link();
    if (take_op("|")) {
      e = filter(std::move(e));
    } else if (take_word("is")) {
      e = test(std::move(e));
    } else if (is_op("(")) {
      auto out = node<Call>();
      out->callee = std::move(e);
      out->arguments = call_arguments();
      e = std::move(out);
    } else {
      return e;
    }
  }
}

std::unique_ptr<FilterExpr> ExpressionParser::filter(ExprPtr input) {
  auto out = node<FilterExpr>();
  out->name = expect_name("the name of a filter");
  while (take_op(".")) out->name += '.' + expect_name("the name of a filter");
  out->filter = find_filter(out->name);
  if (!out->filter && !conditional_)
    unknown_.push_back({out->line, cat("filter '", out->name, "'")});
  out->input = std::move(input);
  if (is_op("(")) out->arguments = call_arguments();
  return out;
}

ExprPtr ExpressionParser::test(ExprPtr input) {
  auto out = node<TestExpr>();
  out->inverted = take_word("not");
  out->name = expect_name("the name of a test");
  out->test = find_test(out->name);
  if (!out->test && !conditional_) unknown_.push_back({out->line, cat("test '", out->name, "'")});
  out->input = std::move(input);
  const TokenKind kind = now().kind;
  const bool value = kind == TokenKind::name || kind == TokenKind::string ||
                     kind == TokenKind::integer || kind == TokenKind::floating || is_op("[") ||
                     is_op("{");
  if (is_op("(")) {
    out->arguments = call_arguments();
  } else if (value && !is_word("else") && !is_word("or") && !is_word("and")) {
    if (is_word("is")) syntax_error(now().line, "tests with 'is' cannot be chained");
    out->arguments.positional.push_back(postfix(primary()));
  }
  return out;
}

}  // namespace cupel::text::jinja
