// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/node_impl.h"

namespace cupel {

void split_lines(std::string_view text, std::vector<std::string>& lines) {
  for (;;) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

namespace {

// The parser would take some of these for the end of the text.
std::vector<Problem> control_characters(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t k = 0; k < lines[i].size(); ++k) {
      const char c = lines[i][k];
      if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') continue;
      const int column = count_characters(std::string_view(lines[i]).substr(0, k)) + 1;
      return {{static_cast<int>(i) + 1, column, 1,
               cat("a control character (code ", static_cast<int>(c), "); is this a text file?")}};
    }
  return {};
}

// The source line and the underline below it, four spaces in.
std::string excerpt(const std::string& line, const Problem& problem) {
  std::string underline;
  int column = 1;
  for (std::size_t i = 0; i < line.size() && column < problem.column; ++i) {
    if ((line[i] & 0xC0) == 0x80) continue;
    underline += line[i] == '\t' ? '\t' : ' ';
    ++column;
  }
  underline.append(static_cast<std::size_t>(std::max(0, problem.column - column)), ' ');
  underline += '^';
  underline.append(static_cast<std::size_t>(std::max(0, problem.width - 1)), '~');
  return cat("\n    ", line, "\n    ", underline);
}

}  // namespace

Document Document::from_file(const std::string& path) {
  std::string text;
  try {
    text = read_text(path);
  } catch (const Error& e) {
    throw Error(Fault::user, e.message());
  }
  return from_text(std::move(text), path);
}

Document Document::from_text(std::string text, std::string name) {
  Document document;
  document.name_ = std::move(name);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  split_lines(text, document.lines_);
  document.file_lines_ = document.lines_.size();
  auto problems = control_characters(document.lines_);
  if (problems.empty()) problems = parse_yaml(text, {document.lines_}, document.root_);
  if (!problems.empty()) throw Error(Fault::user, document.format(problems));
  return document;
}

std::string Document::format(std::vector<Problem> problems) const {
  const auto key = [](const Problem& p) { return std::tie(p.line, p.column); };
  std::ranges::stable_sort(problems, {}, key);
  // A node that aliases refer to is read more than once.
  const auto repeated = std::ranges::unique(
      problems, {}, [](const Problem& p) { return std::tie(p.line, p.column, p.message); });
  problems.erase(repeated.begin(), repeated.end());
  std::string out;
  for (const Problem& problem : problems) {
    if (!out.empty()) out += '\n';
    const auto line = static_cast<std::size_t>(problem.line);
    if (line > file_lines_)
      out += "--set: ";
    else if (line > 0)
      out += cat(name_, ":", line, ":", problem.column, ": ");
    else
      out += cat(name_, ": ");
    out += problem.message;
    if (line > 0 && line <= lines_.size()) out += excerpt(lines_[line - 1], problem);
  }
  return out;
}

}  // namespace cupel
