// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja_lexer.h"
#include "text/jinja_nodes.h"

namespace cupel::text::jinja {

/// Fault::data with the line for what is not Jinja or not known.
Block parse(std::string_view source, Dialect dialect = Dialect::chat);

/// The grammar's expressions, over a list of tokens. Statements build on it.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<LexToken> tokens) : tokens_(std::move(tokens)) {}

 protected:
  /// Whether `a if b else c` and a tuple without parentheses may stand here.
  enum class Form { whole, no_condition, tuple, tuple_no_condition };
  ExprPtr expression(Form form);
  ExprPtr primary();
  ExprPtr postfix(ExprPtr e);
  CallArguments call_arguments();
  std::unique_ptr<FilterExpr> filter(ExprPtr input);
  bool at_tuple_end() const;

  const LexToken& now() const { return tokens_[at_]; }
  const LexToken& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  LexToken take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_op(const char* op) const { return now().kind == TokenKind::op && now().text == op; }
  bool is_word(const char* word) const {
    return now().kind == TokenKind::name && now().text == word;
  }
  bool take_op(const char* op) { return is_op(op) && (take(), true); }
  bool take_word(const char* word) { return is_word(word) && (take(), true); }
  void expect_op(const char* op);
  std::string expect_name(const char* what);
  [[noreturn]] void unexpected(const char* wanted) const;
  template <class Node>
  std::unique_ptr<Node> node() const {
    auto out = std::make_unique<Node>();
    out->line = now().line;
    return out;
  }

  /// Counts what makes the tree of one tag's expressions deeper: whoever walks it recurses.
  void link();

  /// Macros that the parser is inside of: `caller`, `varargs` and `kwargs` mean something there.
  std::vector<Macro*> macros_;
  /// Inside of conditions, a filter or test that is not known is an error only if it is reached.
  int conditional_ = 0;
  struct Unknown {
    int line = 0;
    std::string what;
  };
  std::vector<Unknown> unknown_;  ///< those that are sure to be reached
  int depth_ = 0, links_ = 0;

 private:
  ExprPtr condition(bool conditional);
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr logical_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power_of();
  ExprPtr unary(bool with_filters);
  ExprPtr filters_and_tests(ExprPtr e);
  ExprPtr test(ExprPtr input);
  ExprPtr subscript(ExprPtr of);
  ExprPtr bracket(ExprPtr of);
  ExprPtr name();
  ExprPtr number();
  ExprPtr list();
  ExprPtr mapping();
  ExprPtr parenthesis();
  ExprPtr tuple_rest(ExprPtr first, bool conditional);

  std::vector<LexToken> tokens_;
  std::size_t at_ = 0;
};

}  // namespace cupel::text::jinja
