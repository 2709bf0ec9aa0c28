// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "base/cat.h"
#include "base/node_impl.h"

namespace cupel {
namespace {

// Ends the parse; yaml-cpp's own exceptions are turned into the same.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

// Line and byte of a mark, counted from 0, in the lines of the place.
std::pair<std::size_t, std::size_t> spot(const YAML::Mark& mark, const TextPlace& place) {
  return {place.first_line + static_cast<std::size_t>(mark.line),
          static_cast<std::size_t>(mark.column) + (mark.line == 0 ? place.first_byte : 0)};
}

// The source from the mark to the end of its line.
std::string_view source_at(const YAML::Mark& mark, const TextPlace& place) {
  const auto [line, byte] = spot(mark, place);
  if (line >= place.lines.size() || byte > place.lines[line].size()) return {};
  return std::string_view(place.lines[line]).substr(byte);
}

Problem locate(const YAML::Mark& mark, const TextPlace& place) {
  if (mark.is_null()) return {};
  const auto [line, byte] = spot(mark, place);
  const std::string_view text = line < place.lines.size() ? place.lines[line] : std::string_view();
  return {static_cast<int>(line) + 1, count_characters(text.substr(0, byte)) + 1, 1, {}};
}

// The characters that a scalar covers on the line where it starts.
int width_of_scalar(std::string_view line, const std::string& text) {
  if (line.empty()) return 1;
  const char quote = line[0];
  if (quote == '\'' || quote == '"') {
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (quote == '"' && line[i] == '\\')
        ++i;
      else if (line[i] == quote && quote == '\'' && i + 1 < line.size() && line[i + 1] == quote)
        ++i;
      else if (line[i] == quote)
        return count_characters(line.substr(0, i + 1));
    }
  } else if (line.starts_with(text)) {
    return std::max(1, count_characters(text));
  }
  return std::max(1, count_characters(line.substr(0, line.find_last_not_of(" \t") + 1)));
}

// Builds the tree from the events of the parser rather than from its nodes: those hide aliases and
// the quotes.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const TextPlace& place) : place_(place) {}
  Node root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw Refused{mark, "the document ended before this text; is the indentation right?"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto impl = make(mark, NodeKind::null);
    // An empty value has no text of its own: messages point to its key.
    if (!open_.empty() && open_.back().key) {
      impl->line = open_.back().key.line();
      impl->column = open_.back().key.column();
      impl->width = open_.back().key.width();
    }
    add(Node(impl), anchor, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // An anchor is known once its node is complete, so a node can't hold itself.
    if (anchor >= anchors_.size() || !anchors_[anchor])
      throw Refused{mark, "this alias refers to a node that holds it"};
    add(anchors_[anchor], 0, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto impl = make(mark, NodeKind::scalar);
    impl->text = value;
    impl->quoted = tag != "?";
    impl->width = width_of_scalar(source_at(mark, place_), value);
    add(Node(impl), anchor, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(mark, NodeKind::list), {}, anchor, mark});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(mark, NodeKind::map), {}, anchor, mark});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<Node::Impl> impl;
    Node key;
    YAML::anchor_t anchor;
    YAML::Mark mark;
  };

  std::shared_ptr<Node::Impl> make(const YAML::Mark& mark, NodeKind kind) const {
    const Problem place = locate(mark, place_);
    auto impl = std::make_shared<Node::Impl>();
    impl->kind = kind;
    impl->line = place.line;
    impl->column = place.column;
    return impl;
  }

  void add(const Node& node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor > 0) {
      anchors_.resize(std::max<std::size_t>(anchors_.size(), anchor + 1));
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = node;
    } else if (open_.back().impl->kind == NodeKind::list) {
      open_.back().impl->items.push_back(node);
    } else if (!open_.back().key) {
      if (!node.is_scalar()) throw Refused{mark, cat("a key must be text, not ", node.kind())};
      open_.back().key = node;
    } else {
      open_.back().impl->entries.emplace_back(std::exchange(open_.back().key, {}), node);
    }
  }

  void close() {
    const Open done = std::move(open_.back());
    open_.pop_back();
    add(Node(done.impl), done.anchor, done.mark);
  }

  const TextPlace& place_;
  Node root_;
  std::vector<Open> open_;
  std::vector<Node> anchors_;
  int documents_ = 0;
};

}  // namespace

std::vector<Problem> parse_yaml(const std::string& text, const TextPlace& place, Node& root) {
  const auto refusal = [&](const YAML::Mark& mark, const std::string& message) {
    Problem problem = locate(mark, place);
    problem.message = message;
    return std::vector<Problem>{problem};
  };
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder builder(place);
    while (parser.HandleNextDocument(builder)) {
    }
    root = builder.root();
    return {};
  } catch (const Refused& e) {
    return refusal(e.mark, e.message);
  } catch (const YAML::Exception& e) {
    return refusal(e.mark, cat("this is not YAML: ", e.msg));
  }
}

}  // namespace cupel
