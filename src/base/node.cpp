// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "base/cat.h"
#include "base/node_impl.h"

namespace cupel {
namespace {

const Node::Impl& impl_or_nothing(const std::shared_ptr<const Node::Impl>& impl) {
  static const Node::Impl nothing;
  return impl ? *impl : nothing;
}

}  // namespace

int count_characters(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Problem problem_at(const Node& node, std::string message) {
  return {node.line(), node.column(), node.width(), std::move(message)};
}

bool Node::is_map() const {
  return impl_or_nothing(impl_).kind == NodeKind::map;
}
bool Node::is_list() const {
  return impl_or_nothing(impl_).kind == NodeKind::list;
}
bool Node::is_scalar() const {
  return impl_or_nothing(impl_).kind == NodeKind::scalar;
}
bool Node::is_null() const {
  return impl_or_nothing(impl_).kind == NodeKind::null;
}
int Node::line() const {
  return impl_or_nothing(impl_).line;
}
int Node::column() const {
  return impl_or_nothing(impl_).column;
}
int Node::width() const {
  return impl_or_nothing(impl_).width;
}
const std::string& Node::text() const {
  return impl_or_nothing(impl_).text;
}
bool Node::quoted() const {
  return impl_or_nothing(impl_).quoted;
}

const std::vector<std::pair<Node, Node>>& Node::entries() const {
  return impl_or_nothing(impl_).entries;
}

const std::vector<Node>& Node::items() const {
  return impl_or_nothing(impl_).items;
}

std::string Node::kind() const {
  constexpr std::size_t kShown = 60;
  switch (impl_or_nothing(impl_).kind) {
    case NodeKind::map:
      return "a mapping";
    case NodeKind::list:
      return "a list";
    case NodeKind::null:
      return "nothing";
    case NodeKind::scalar:
      break;
  }
  const std::size_t line_end = text().find('\n');
  if (line_end == std::string::npos && text().size() <= kShown) return cat("'", text(), "'");
  std::size_t end = std::min(line_end, kShown);
  while (end < text().size() && (text()[end] & 0xC0) == 0x80) --end;
  return cat("'", text().substr(0, end), "...'");
}

Node Node::find(std::string_view key) const {
  for (const auto& [name, value] : entries())
    if (name.text() == key) return value;
  return {};
}

}  // namespace cupel
