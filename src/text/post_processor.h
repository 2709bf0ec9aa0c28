// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "text/part.h"
#include "text/tokenizer.h"

namespace cupel::text {

/// What a post-processor puts around the tokens of one text.
struct Surround {
  std::vector<Token> before, after;
};

Surround read_post_processor(const Part& part);

}  // namespace cupel::text
