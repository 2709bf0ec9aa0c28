// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/corpus.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "eval/wikitext.h"

namespace cupel::eval {

namespace {

CorpusDocument page_of(std::string_view line) {
  const auto row = nlohmann::json::parse(line, nullptr, false);
  CUPEL_CHECK(!row.is_discarded(), data, "the line is not JSON");
  CUPEL_CHECK(row.is_object() && row.contains("page") && row["page"].is_string(), data,
              "the line has no text 'page'");
  const auto& page = row["page"].get_ref<const std::string&>();
  return {wikitext_detokenized(page), count_space_separated(page),
          static_cast<int64_t>(page.size())};
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace

Corpus plain_corpus(std::string name, std::string text) {
  Corpus out{std::move(name), Sha256().add(text).hex(), {}, false};
  const int64_t words = count_space_separated(text), bytes = static_cast<int64_t>(text.size());
  out.documents.push_back({std::move(text), words, bytes});
  return out;
}

Corpus page_corpus(std::string name, std::string_view text, int64_t limit) {
  CUPEL_CHECK(limit >= 0, user, "the number of documents must be 0 (all) or more, not ", limit);
  Corpus out{std::move(name), Sha256().add(text).hex(), {}, true};
  const auto there = [&] { return static_cast<int64_t>(out.documents.size()); };
  for (int64_t line = 1; !text.empty() && (limit == 0 || there() < limit); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!is_blank(text.substr(0, end)))
      in_frame(cat("reading line ", line, " of '", out.name, "'"),
               [&] { out.documents.push_back(page_of(text.substr(0, end))); });
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  CUPEL_CHECK(there() >= limit, user, "'", out.name, "' has ", there(),
              " documents, fewer than the ", limit, " asked for");
  CUPEL_CHECK(there() > 0, data, "'", out.name, "' has no documents");
  return out;
}

Corpus read_corpus(const std::string& path, int64_t limit) {
  if (path.ends_with(".jsonl")) return page_corpus(path, read_text(path), limit);
  CUPEL_CHECK(limit == 0, user, "'", path,
              "' is one document; a number of documents needs a .jsonl file of pages");
  return plain_corpus(path, read_text(path));
}

}  // namespace cupel::eval
