// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "text/tokenizer.h"

namespace cupel::text {

/// Recipe entry for a text file that is cut into samples of equal length.
struct TextData : Params {
  std::string file;
  int64_t samples = 0;  ///< 0 is as many as there are
  int64_t length = 1024;
  void visit(ParamVisitor& v) override;
};

/// The file's tokens cut into consecutive blocks of `length`, the first `samples` of them; the tail
/// is dropped. Fault::user when the text has fewer tokens than asked for; the message says how many
/// there are.
std::vector<std::vector<Token>> token_blocks(const Tokenizer& tokenizer, std::string_view text,
                                             int64_t samples, int64_t length,
                                             const std::string& name);

}  // namespace cupel::text
