// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "runtime/model.h"
#include "text/chat_template.h"

namespace cupel::cli {

/// A model's chat template with its tokens: conversations to prompts. What a user typed never
/// becomes special tokens.
class ChatPrompt {
 public:
  /// `file`: a template to use instead of the model's own. Fault::data when there is none, or one
  /// that Cupel can't render.
  explicit ChatPrompt(const runtime::Model& model, const std::string& file = "");
  std::vector<text::Token> tokens(const std::vector<text::Message>& messages) const;

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::Template template_;
  std::string bos_, eos_;
};

}  // namespace cupel::cli
