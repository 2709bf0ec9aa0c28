// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/node_impl.h"

namespace cupel {
namespace {

// Walks one path of set() and returns copies of the nodes on it with the value at its end.
class Setter {
 public:
  Setter(std::string_view path, Node value, int line)
      : path_(path), value_(std::move(value)), line_(line) {}

  std::vector<Problem> problems;

  Node replace(const Node& node, std::size_t from) {
    if (from > path_.size()) return value_;
    if (node.is_list()) return replace_item(node, from);
    if (node.is_map() || node.is_null()) return replace_entry(node, from);
    const std::string_view name = step_at(from);
    // `layout: uniform` is short for `layout: {uniform: }`.
    if (node.text() == name && from + name.size() < path_.size())
      return replace_entry({}, from, true);
    return refuse(from, cat(prefix(from), " is ", node.kind(), ", it has no '", name, "'"));
  }

 private:
  std::string_view step_at(std::size_t from) const {
    return path_.substr(from, path_.find('.', from) - from);
  }
  std::string prefix(std::size_t from) const {
    return from == 0 ? "the document" : cat("'", path_.substr(0, from - 1), "'");
  }
  Node refuse(std::size_t from, std::string message) {
    problems.push_back(problem_at(key_node(from, step_at(from)), std::move(message)));
    return {};
  }
  Node key_node(std::size_t from, std::string_view name) const {
    auto key = std::make_shared<Node::Impl>();
    key->kind = NodeKind::scalar;
    key->text = name;
    key->line = line_;
    key->column = count_characters(path_.substr(0, from)) + 1;
    key->width = std::max(1, count_characters(name));
    return Node(key);
  }

  Node replace_item(const Node& node, std::size_t from) {
    const std::string_view step = step_at(from);
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(step.begin(), step.end(), index);
    if (error != std::errc() || end != step.end() || index >= node.items().size())
      return refuse(from, cat(prefix(from), " is a list of ", node.items().size(),
                              " (counted from 0), it has no element '", step, "'"));
    auto copy = std::make_shared<Node::Impl>();
    copy->kind = NodeKind::list;
    copy->line = node.line();
    copy->column = node.column();
    copy->items = node.items();
    copy->items[index] = replace(node.items()[index], from + step.size() + 1);
    return Node(copy);
  }

  // `may_create` also creates a key that is not the last one.
  Node replace_entry(const Node& node, std::size_t from, bool may_create = false) {
    const std::string_view rest = path_.substr(from);
    std::string_view name;
    std::vector<std::string> known;
    for (const auto& entry : node.entries()) {
      const std::string& key = entry.first.text();
      known.push_back(key);
      const bool fits = rest == key || (rest.starts_with(key) && rest[key.size()] == '.');
      if (fits && key.size() >= name.size()) name = rest.substr(0, key.size());
    }
    const bool found = name.data() != nullptr;
    if (!found) name = step_at(from);
    if (!found && !may_create && name.size() < rest.size()) return unknown(from, name, known);
    if (name.empty()) return refuse(from, cat("an empty name in '", path_, "'"));

    auto copy = std::make_shared<Node::Impl>();
    copy->kind = NodeKind::map;
    copy->line = node ? node.line() : line_;
    copy->column = node ? node.column() : 1;
    copy->entries = node.entries();
    auto place =
        std::ranges::find_if(copy->entries, [&](const auto& e) { return e.first.text() == name; });
    if (place == copy->entries.end())
      place = copy->entries.insert(place, {key_node(from, name), Node()});
    place->second = replace(place->second, from + name.size() + 1);
    return Node(copy);
  }

  Node unknown(std::size_t from, std::string_view name, const std::vector<std::string>& known) {
    const std::string near = nearest_name(name, known);
    return refuse(from, cat(prefix(from), " has no '", name, "'",
                            near.empty() ? "" : cat("; did you mean '", near, "'?"),
                            " (known: ", known.empty() ? "nothing" : joined(known), ")"));
  }

  std::string_view path_;
  Node value_;
  int line_;
};

}  // namespace

void Document::set(std::string_view path, std::string_view value) {
  const std::size_t first = lines_.size();
  split_lines(cat(path, "=", value), lines_);
  Node node;
  std::vector<Problem> problems =
      parse_yaml(std::string(value), {lines_, first, path.size() + 1}, node);
  if (problems.empty()) {
    Setter setter(path, node, static_cast<int>(first) + 1);
    Node root = setter.replace(root_, 0);
    problems = std::move(setter.problems);
    if (problems.empty()) root_ = std::move(root);
  }
  if (!problems.empty()) throw Error(Fault::user, format(problems));
}

}  // namespace cupel
