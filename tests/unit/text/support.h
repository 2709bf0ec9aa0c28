// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokenizer.h"

namespace cupel::text::test {

/// Parts of a tokenizer.json; what is left empty is null. The model's default is a byte-fallback
/// BPE whose vocabulary is all of ASCII and a few merges.
struct Parts {
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null",
              decoder = "null";
  std::string added_tokens = "[]", model = ascii_model(), cupel;
  static std::string ascii_model(const std::string& options = "");
  std::string json() const;
};

std::shared_ptr<const Tokenizer> tokenizer(const Parts& parts);

/// The texts of the tokens, with special text parsed: {"he", "llo"}.
std::vector<std::string> pieces(const Tokenizer& t, std::string_view text,
                                EncodeOptions options = {.special_text = true});

/// The error that `body` must throw.
Error error_of(const std::function<void()>& body);

/// A file below the folder of shared fixtures, "" if that folder is not there.
std::string shared_file(const std::string& name);
std::vector<std::string> lines_of(const std::string& path);

}  // namespace cupel::text::test
