// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "support.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"

namespace cupel::text::test {

std::string Parts::ascii_model(const std::string& options) {
  nlohmann::ordered_json vocab;
  for (char c = ' '; c <= '~'; ++c) vocab[std::string(1, c)] = vocab.size();
  for (const char* token :
       {"\xE2\x96\x81", "he", "ll", "hell", "hello", "\xE2\x96\x81h", "\xC4\xA0"})
    vocab[token] = vocab.size();
  return R"({"type":"BPE")" + options + R"(,"vocab":)" + vocab.dump() +
         R"(,"merges":["h e","l l","he ll","hell o","▁ h"]})";
}

std::string Parts::json() const {
  std::string out = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" +
                    added_tokens + R"(,"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" +
                    pre_tokenizer + R"(,"post_processor":)" + post_processor + R"(,"decoder":)" +
                    decoder + R"(,"model":)" + model;
  if (!cupel.empty()) out += R"(,"cupel":)" + cupel;
  return out + "}";
}

std::shared_ptr<const Tokenizer> tokenizer(const Parts& parts) {
  return Tokenizer::from_json(parts.json());
}

std::vector<std::string> pieces(const Tokenizer& t, std::string_view text, EncodeOptions options) {
  std::vector<std::string> out;
  for (const Token id : t.encode(text, options)) out.push_back(t.decode(std::vector{id}, false));
  return out;
}

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  return Error(Fault::internal, "nothing was thrown");
}

std::string shared_file(const std::string& name) {
  const char* set = std::getenv("CUPEL_SHARED");
  const std::filesystem::path folder =
      set ? std::filesystem::path(set) : std::filesystem::path(CUPEL_SOURCE_DIR) / "../shared";
  return std::filesystem::is_directory(folder / "fixtures") ? (folder / "fixtures" / name).string()
                                                            : "";
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream in(read_text(path));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

}  // namespace cupel::text::test
