// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::eval {

/// A text that is scored alone: no token sees another document.
struct CorpusDocument {
  std::string text;   ///< what the tokenizer gets
  int64_t words = 0;  ///< of the original, before it was detokenized (count_space_separated)
  int64_t bytes = 0;  ///< of the original, UTF-8
};

/// What a file holds.
struct Corpus {
  std::string name;    ///< path, for messages and results
  std::string sha256;  ///< of the file's bytes
  std::vector<CorpusDocument> documents;
  bool pages = false;  ///< read from a .jsonl: words and bytes belong to whole documents
};

/// One document, as it stands.
Corpus plain_corpus(std::string name, std::string text);

/// `text` with one JSON object a line, whose `page` is a page of WikiText; each becomes a document,
/// detokenized as lm-eval does. `limit` keeps the first documents (0: all). Fault::data names the
/// line that is broken or has no page, Fault::user when there are fewer documents than asked for.
Corpus page_corpus(std::string name, std::string_view text, int64_t limit);

/// A file: page_corpus for a name that ends in .jsonl, else plain_corpus (then a limit is a
/// Fault::user).
Corpus read_corpus(const std::string& path, int64_t limit);

}  // namespace cupel::eval
