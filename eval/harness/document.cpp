// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/document.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "eval/harness/gzip.h"
#include "text/jinja_library.h"

namespace cupel::eval {

namespace {

namespace fs = std::filesystem;
using text::jinja::Value;

std::vector<Row> json_lines(std::string_view bytes, const std::string& name) {
  std::vector<Row> out;
  int64_t line = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view row = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    ++line;
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    try {
      out.push_back(text::jinja::from_json(row));
    } catch (const Error& e) {
      fail(Fault::data, "'", name, "' line ", line, " is not a JSON object: ", e.message());
    }
  }
  return out;
}

std::vector<Row> json_list(std::string_view bytes, const std::string& name) {
  Row whole;
  try {
    whole = text::jinja::from_json(cat("{\"rows\":", bytes, "}"));
  } catch (const Error& e) {
    fail(Fault::data, "'", name, "' is not a JSON list of objects: ", e.message());
  }
  std::vector<Row> out;
  const Value* rows = whole.find("rows");
  CUPEL_CHECK(rows->is_list(), data, "'", name, "' holds no JSON list");
  for (const Value& row : rows->as_list().items) {
    CUPEL_CHECK(row.is_dict(), data, "'", name, "': element ", out.size(), " is not an object");
    out.push_back(row.as_dict());
  }
  return out;
}

/// One record of a CSV text; `at` moves behind its line end.
std::vector<std::string> csv_record(std::string_view s, std::size_t& at, const std::string& name) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (; at < s.size(); ++at) {
    const char c = s[at];
    if (quoted && c == '"' && at + 1 < s.size() && s[at + 1] == '"') {
      out.back() += s[at++];
    } else if (c == '"' && (quoted || out.back().empty())) {
      quoted = !quoted;
    } else if (quoted || (c != ',' && c != '\n' && c != '\r')) {
      out.back() += c;
    } else if (c == ',') {
      out.emplace_back();
    } else if (c == '\n') {
      ++at;
      return out;
    }
  }
  CUPEL_CHECK(!quoted, data, "'", name, "': a quoted value does not end");
  return out;
}

std::vector<Row> csv(std::string_view bytes, const std::string& name) {
  std::size_t at = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const std::vector<std::string> columns = csv_record(bytes, at, name);
  std::vector<Row> out;
  while (at < bytes.size()) {
    const std::vector<std::string> values = csv_record(bytes, at, name);
    if (values.size() == 1 && values[0].empty()) continue;
    CUPEL_CHECK(values.size() == columns.size(), data, "'", name, "': row ", out.size() + 1,
                " has ", values.size(), " values, the heading ", columns.size());
    Row row;
    for (std::size_t i = 0; i < columns.size(); ++i) row.set(columns[i], values[i]);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::vector<Row> parse_documents(std::string_view bytes, const std::string& name) {
  if (name.ends_with(".jsonl")) return json_lines(bytes, name);
  if (name.ends_with(".json")) return json_list(bytes, name);
  if (name.ends_with(".csv")) return csv(bytes, name);
  if (name.ends_with(".gz"))
    return parse_documents(gunzip(bytes, name), name.substr(0, name.size() - 3));
  fail(Fault::user, "'", name,
       "': data files end in .jsonl, .json or .csv, each with or without .gz");
}

std::vector<Row> read_documents(const std::string& path) {
  return parse_documents(read_text(path), path);
}

const Value* field(const Row& document, std::string_view path) {
  const Row* at = &document;
  for (;;) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const Value* v = at->find(Value(path.substr(0, dot)));
    if (!v || dot == path.size()) return v;
    if (!v->is_dict()) return nullptr;
    at = &v->as_dict();
    path.remove_prefix(dot + 1);
  }
}

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> out;
  for (const Value& v : text::jinja::iterate(list)) out.push_back(text::jinja::to_text(v));
  return out;
}

std::string find_data(const std::string& folder, const std::string& file) {
  if (fs::path(file).is_absolute()) return file;
  const std::string last = fs::path(file).filename().string();
  std::string tried;
  for (const fs::path& p :
       {fs::path(folder) / file, fs::path(folder) / "eval" / file, fs::path(folder) / last}) {
    if (fs::exists(p)) return p.string();
    tried += cat(tried.empty() ? "'" : ", '", p.string(), "'");
  }
  fail(Fault::user, "no data file '", file, "': tried ", tried, "; --data names the folder");
}

}  // namespace cupel::eval
