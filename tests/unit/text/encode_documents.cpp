// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// encode_documents all|plain TOKENIZER DOCUMENTS IDS: encodes documents one after the other on one
// thread and prints the seconds of CPU time that took. For bench/tokenizers.py. DOCUMENTS holds,
// for each one, its length in bytes and its text; IDS gets, for each one, its number of tokens and
// their ids. Numbers are 32-bit little endian. Under `all`, text that spells a special token
// becomes that token.
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "format/checkpoint.h"
#include "text/tokenizer.h"

namespace {

using namespace cupel;

std::vector<std::string_view> documents_in(std::string_view file) {
  std::vector<std::string_view> out;
  while (!file.empty()) {
    uint32_t length = 0;
    CUPEL_CHECK(file.size() >= sizeof length, data, "a length is cut");
    std::memcpy(&length, file.data(), sizeof length);
    file.remove_prefix(sizeof length);
    CUPEL_CHECK(length <= file.size(), data, "a document is cut");
    out.push_back(file.substr(0, length));
    file.remove_prefix(length);
  }
  return out;
}

void run(const std::string& tokenizer, const std::string& documents, const std::string& ids_path,
         text::EncodeOptions options) {
  const auto t = text::Tokenizer::from_json(format::tokenizer_json_of(tokenizer));
  const std::string file = read_text(documents);
  std::vector<std::vector<text::Token>> ids;
  const std::clock_t start = std::clock();
  for (const std::string_view document : documents_in(file))
    ids.push_back(t->encode(document, options));
  std::printf("%.4f\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  std::string out;
  for (const auto& list : ids) {
    const auto count = static_cast<uint32_t>(list.size());
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    out.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof list[0]);
  }
  write_atomic(ids_path, out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: encode_documents all|plain TOKENIZER DOCUMENTS IDS\n");
    return 2;
  }
  try {
    run(argv[2], argv[3], argv[4], {.special_text = std::string_view(argv[1]) == "all"});
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 3;
  }
}
