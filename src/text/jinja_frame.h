// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_value.h"

namespace cupel::text::jinja {

/// Variables of one block; names not found here are looked for in the block around it.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> variables;

  explicit Scope(std::shared_ptr<Scope> p) : parent(std::move(p)) {}
  const Value* find(const std::string& name) const {
    for (const Scope* s = this; s; s = s->parent.get())
      for (const auto& [n, v] : s->variables)
        if (n == name) return &v;
    return nullptr;
  }
  void set(const std::string& name, Value value) {
    for (auto& [n, v] : variables)
      if (n == name) return void(v = std::move(value));
    variables.emplace_back(name, std::move(value));
  }
};

/// One rendering: where it is, and how much it has done. The limits stop templates that would not
/// end.
struct Run {
  // Nested evaluations; each costs a few hundred bytes of stack.
  static constexpr int kDeepest = 2000;
  static constexpr std::size_t kLongestOutput = 64 << 20;
  static constexpr int kMostNamespaces = 5000;  // they can form chains, whose destruction recurses

  Budget budget;
  int line = 1;
  int depth = 0;
  int namespaces = 0;
  bool strict = false;  ///< printing something undefined is an error

  void step(int at_line) {
    line = at_line;
    spend(1);
  }
};

/// What a node needs while it runs.
struct Frame {
  Run& run;
  std::shared_ptr<Scope> scope;
  std::string* out;

  Frame inner() const { return {run, std::make_shared<Scope>(scope), out}; }
  void write(std::string_view text) {
    spend(text.size() / 16);
    if (out->size() + text.size() > Run::kLongestOutput)
      raise("MemoryError", "the output is larger than 64 MiB");
    *out += text;
  }
};

/// Counts the nesting of evaluations while it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Run& run) : run_(run) {
    if (++run.depth > Run::kDeepest) {
      --run.depth;
      raise("RecursionError", "the template nests deeper than ", Run::kDeepest);
    }
  }
  ~DepthGuard() { --run_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Run& run_;
};

}  // namespace cupel::text::jinja
