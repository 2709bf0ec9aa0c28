// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace cupel::text {

// The text of ids_[prefix_, read_) is out already; it is decoded again for context, because
// decoders treat the first token of a text differently. What follows waits.

std::string StreamDecoder::push(Token id) {
  if (tokenizer_->is_special(id)) return "";
  ids_.push_back(id);
  const std::span<const Token> window = std::span(ids_).subspan(prefix_);
  const std::string text = tokenizer_->decode(window);
  const std::string before = tokenizer_->decode(window.first(read_ - prefix_));
  if (text.size() <= before.size() || utf8_cut_tail(text) > 0) return "";
  prefix_ = read_;
  read_ = ids_.size();
  return utf8_lossy(std::string_view(text).substr(before.size()));
}

std::string StreamDecoder::finish() {
  const std::span<const Token> window = std::span(ids_).subspan(prefix_);
  const std::string text = tokenizer_->decode(window);
  const std::string before = tokenizer_->decode(window.first(read_ - prefix_));
  ids_.clear();
  prefix_ = read_ = 0;
  return text.size() <= before.size() ? ""
                                      : utf8_lossy(std::string_view(text).substr(before.size()));
}

}  // namespace cupel::text
