// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::text {

using Token = int32_t;

struct EncodeOptions {
  bool special_text =
      false;  ///< text that spells a special token becomes that token (never for what a user typed)
  bool add_special = false;  ///< what the post-processor adds (BOS for Llama; nothing for SmolLM2)
};

/// Text to token ids and back, from the JSON form of a tokenizer (the schema of `tokenizer.json`;
/// files of other kinds are brought into it by format::tokenizer_json). Immutable, thread-safe.
class Tokenizer {
 public:
  /// Fault::data for JSON that is broken or uses a part that is not known; the part is named,
  /// nothing is skipped.
  static std::shared_ptr<const Tokenizer> from_json(std::string_view json);
  virtual ~Tokenizer() = default;

  virtual std::vector<Token> encode(std::string_view utf8, EncodeOptions options = {}) const = 0;
  /// Bytes of the tokens; `skip_special` leaves out special tokens. Invalid UTF-8 can occur when a
  /// character is cut.
  virtual std::string decode(std::span<const Token> ids, bool skip_special = true) const = 0;
  /// Size of the vocabulary, added tokens included (the model's logits may be wider).
  virtual int64_t size() const = 0;
  virtual bool is_special(Token id) const = 0;
  /// The id of a token by its text, -1 when there is none.
  virtual Token find(std::string_view token) const = 0;
  /// -1 when the tokenizer has none.
  virtual Token bos() const = 0;
  /// All tokens that end a generation: eos of the configuration, and end-of-turn tokens.
  virtual const std::vector<Token>& end_tokens() const = 0;
  /// The chat template that came with the model, "" when there is none.
  virtual const std::string& chat_template() const = 0;
  /// Text of a token by its role in chat templates ("bos_token", "eos_token"), "" when there is
  /// none.
  virtual std::string special_text(std::string_view) const { return {}; }
};

/// Incremental detokenization for streaming: hands out text only once its characters are complete.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}
  /// The text that became certain with this token; "" while a character is incomplete.
  std::string push(Token id);
  /// What is left at the end; incomplete bytes become U+FFFD.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<Token> ids_;
  std::size_t prefix_ = 0, read_ = 0;
};

}  // namespace cupel::text
