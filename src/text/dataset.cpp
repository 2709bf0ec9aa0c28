// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/dataset.h"

#include "base/error.h"

namespace cupel::text {

void TextData::visit(ParamVisitor& v) {
  v.field("file", file, "text file");
  v.field("samples", samples, "number of samples; 0 is as many as there are").in(0, 1e9);
  v.field("length", length, "tokens of a sample").in(1, 1e7);
}

std::vector<std::vector<Token>> token_blocks(const Tokenizer& tokenizer, std::string_view text,
                                             int64_t samples, int64_t length,
                                             const std::string& name) {
  CUPEL_CHECK(length > 0 && samples >= 0, user, name,
              ": samples must not be negative and length must be positive");
  const std::vector<Token> ids = tokenizer.encode(text);
  const auto total = static_cast<int64_t>(ids.size());
  const int64_t there = total / length;
  CUPEL_CHECK(there > 0 && there >= samples, user, name, ": ", samples > 0 ? samples : 1,
              " samples of ", length, " tokens need ", (samples > 0 ? samples : 1) * length,
              " tokens, but the text has ", total, " (", there, " samples)");
  std::vector<std::vector<Token>> out;
  for (int64_t i = 0; i < (samples > 0 ? samples : there); ++i)
    out.emplace_back(ids.begin() + i * length, ids.begin() + (i + 1) * length);
  return out;
}

}  // namespace cupel::text
