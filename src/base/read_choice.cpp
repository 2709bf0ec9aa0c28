// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"
#include "base/params_text.h"
#include "base/reader.h"

namespace cupel {
namespace {

// The name and the parameters of `name` or `{name: {...}}`; a null name after a problem.
std::pair<Node, Node> named_parts(const Node& node, const std::string& subject,
                                  const std::string& names, std::vector<Problem>& problems) {
  if (node.is_scalar()) return {node, {}};
  if (!node.is_map() || node.entries().empty()) {
    const std::string found = node.is_map() ? "an empty mapping" : node.kind();
    problems.push_back(problem_at(node, cat(subject, " must be one of ", names, ", not ", found)));
    return {};
  }
  if (node.entries().size() > 1) {
    const Node& second = node.entries()[1].first;
    problems.push_back(problem_at(
        second, cat(subject, " takes one of ", names, "; ", second.kind(), " is one too many")));
    return {};
  }
  return node.entries().front();
}

}  // namespace

void read_named(const Node& node, const std::string& subject, Choice& choice,
                std::vector<Problem>& problems) {
  if (!choice.options) fail(Fault::internal, "a choice without options: ", subject);
  if (node.is_null()) return;
  const std::vector<std::string> names = names_of(*choice.options);
  const auto [name, params] = named_parts(node, subject, joined(names), problems);
  if (!name) return;
  for (const Alternative& option : *choice.options) {
    if (option.name != name.text()) continue;
    // Made anew: copies of a Choice share their parameters.
    choice.name = option.name;
    choice.params = option.make();
    read_mapping(params, params.is_null() ? name : params, cat("'", option.name, "'"),
                 *choice.params, problems);
    return;
  }
  problems.push_back(problem_at(name, cat(subject, " must be one of ", joined(names), ", not ",
                                          name.kind(), hint(name.text(), names))));
}

void read_choice(Node node, Choice& choice, std::vector<Problem>& problems) {
  read_named(node, "this", choice, problems);
}

}  // namespace cupel
