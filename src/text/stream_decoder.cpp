// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace cupel::text {

// ids_ is a window: [0, prefix_..read_) are tokens whose text is out already and which are decoded
// again for context (decoders treat the first token of a text differently), the rest waits.

std::string StreamDecoder::push(Token id) {
  if (tokenizer_->is_special(id)) return "";
  ids_.push_back(id);
  const std::span<const Token> window = ids_;
  const std::string text = tokenizer_->decode(window);
  const std::string before = tokenizer_->decode(window.first(read_));
  if (text.size() <= before.size() || utf8_cut_tail(text) > 0) return "";
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(read_));
  read_ = ids_.size();
  return utf8_lossy(std::string_view(text).substr(before.size()));
}

std::string StreamDecoder::finish() {
  const std::span<const Token> window = ids_;
  const std::string text = tokenizer_->decode(window);
  const std::string before = tokenizer_->decode(window.first(read_));
  ids_.clear();
  read_ = 0;
  return text.size() <= before.size() ? ""
                                      : utf8_lossy(std::string_view(text).substr(before.size()));
}

}  // namespace cupel::text
