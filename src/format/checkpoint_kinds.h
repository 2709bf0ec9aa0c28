// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/checkpoint.h"
#include "format/gguf.h"

/// What the sources of Checkpoint share. Internal to this module.
namespace cupel::format {

std::unique_ptr<Checkpoint> open_hf_checkpoint(const std::string& folder);
std::unique_ptr<Checkpoint> open_gguf_checkpoint(const std::string& path);
std::unique_ptr<Checkpoint> open_artifact_checkpoint(const std::string& path);

/// tokenizer.json merged with the files beside it; "" when the folder has none.
std::string hf_tokenizer_json(const std::string& folder);
/// A tokenizer.json merged with what lies in `folder`; "" for a file on its own.
std::string tokenizer_file_json(const std::string& file, const std::string& folder);
/// A tokenizer.json made from the metadata; "" when there is no tokenizer in it.
std::string gguf_tokenizer_json(const GgufFile& file);

/// JSON as Python writes it, in standard form: NaN and Infinity become texts, which nobody takes
/// for numbers. Fault::data if it is nested very deeply.
std::string plain_json(std::string_view python_json);

/// What a tokenizer.json does not say: the object "cupel" that we add to it.
struct TokenRoles {
  std::optional<int64_t> bos;
  std::vector<int64_t> end_tokens;
  std::string chat_template;
  bool add_bos = false;
  std::vector<std::pair<std::string, std::string>> special_tokens;  ///< "bos_token": its text
  std::string json() const;
};
using NamedToken = std::pair<std::string, int64_t>;
/// Adds those of `special` whose text ends a turn or a document in some model family ("<|im_end|>",
/// "<|eot_id|>"), since the ids that checkpoints state are often incomplete; sorts and removes
/// repeats.
void add_end_tokens(std::vector<int64_t>& ends, const std::vector<NamedToken>& special);
/// A TemplateProcessing post-processor: tokens before and after the text.
std::string template_processing(const std::optional<NamedToken>& before,
                                const std::optional<NamedToken>& after);

/// A remark about a GGUF tokenizer whose splitting rule is a guess, "" when it is known.
std::string gguf_tokenizer_note(const GgufFile& file);

/// Fault::data with the weight's name and the position of the first value that is not finite.
void check_finite(std::span<const float> values, std::string_view weight);

}  // namespace cupel::format
