// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/table.h"

#include <algorithm>

#include "base/cat.h"
#include "base/error.h"
#include "eval/html.h"

namespace cupel::eval {

namespace {

/// Columns of a UTF-8 text on a terminal: code points (no wide characters in our tables).
std::size_t width_of(const std::string& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// "-", "1.5e-07", "94.6 MB", "71 %".
bool numeric(std::string_view s) {
  const std::size_t space = s.find(' ');
  if (space != std::string_view::npos) {
    const std::string_view unit = s.substr(space + 1);
    if (unit != "%" && unit != "B" && !(unit.size() == 2 && unit[1] == 'B')) return false;
  }
  const std::string_view number = s.substr(0, space);
  return !number.empty() && number.find_first_not_of("0123456789.+-eE%") == std::string_view::npos;
}

std::vector<bool> right_aligned(const Table& t) {
  std::vector<bool> out(t.header.size(), !t.rows.empty());
  for (const auto& row : t.rows) {
    CUPEL_ASSERT(row.size() == out.size());
    for (std::size_t c = 0; c < row.size(); ++c) out[c] = out[c] && numeric(row[c]);
  }
  return out;
}

std::string padded(const std::string& s, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, width_of(s)), ' ');
  return right ? fill + s : s + fill;
}

/// A cell may not end its row.
std::string escaped_pipes(std::string s) {
  std::replace(s.begin(), s.end(), '\n', ' ');
  for (std::size_t at = s.find('|'); at != std::string::npos; at = s.find('|', at + 2))
    s.insert(at, "\\");
  return s;
}

}  // namespace

std::string Table::text() const {
  const auto right = right_aligned(*this);
  std::vector<std::size_t> widths(header.size());
  for (std::size_t c = 0; c < header.size(); ++c) widths[c] = width_of(header[c]);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += (c ? "  " : "") + padded(cells[c], widths[c], right[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(header);
  for (const auto& row : rows) line(row);
  return out;
}

std::string Table::markdown() const {
  const auto right = right_aligned(*this);
  std::string out = "|", rule = "|";
  for (std::size_t c = 0; c < header.size(); ++c) {
    out += cat(" ", escaped_pipes(header[c]), " |");
    rule += right[c] ? " ---: |" : " --- |";
  }
  out += cat("\n", rule, "\n");
  for (const auto& row : rows) {
    out += "|";
    for (const auto& cell : row) out += cat(" ", escaped_pipes(cell), " |");
    out += "\n";
  }
  return out;
}

std::string Table::html(const std::string& css_class) const {
  const auto right = right_aligned(*this);
  std::string out = cat("<div class=\"", css_class.empty() ? "scroll" : cat("scroll ", css_class),
                        "\"><table><thead><tr>");
  for (std::size_t c = 0; c < header.size(); ++c)
    out += cat("<th", right[c] ? " class=\"n\"" : "", ">", escape_html(header[c]), "</th>");
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += cat("<td", right[c] ? " class=\"n\"" : "", ">", escape_html(row[c]), "</td>");
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace cupel::eval
