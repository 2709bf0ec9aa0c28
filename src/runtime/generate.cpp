// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/threads.h"
#include "runtime/sampler.h"
#include "runtime/session.h"
#include "runtime/stop_matcher.h"

namespace cupel::runtime {
namespace {

/// Tokens to text: whole characters only, nothing that could belong to a stop text. What was
/// streamed and the final text are the same.
class TextStream {
 public:
  TextStream(std::shared_ptr<const text::Tokenizer> tokenizer,
             const std::vector<std::string>& stops,
             const std::function<bool(std::string_view)>& sink)
      : matcher_(stops), sink_(sink) {
    CUPEL_CHECK(tokenizer || stops.empty(), user,
                "stop: the model has no tokenizer, so there is no text to stop at");
    if (tokenizer) decoder_.emplace(std::move(tokenizer));
  }
  void push(text::Token token) {
    if (decoder_) emit(matcher_.push(decoder_->push(token)));
  }
  void finish() {
    if (!decoder_ || cancelled_) return;
    emit(matcher_.push(decoder_->finish()));
    emit(matcher_.finish());
  }
  bool stopped() const { return matcher_.stopped(); }
  bool cancelled() const { return cancelled_; }
  std::string& text() { return text_; }

 private:
  void emit(const std::string& piece) {
    if (piece.empty()) return;
    text_ += piece;
    if (sink_ && !sink_(piece)) cancelled_ = true;
  }
  std::optional<text::StreamDecoder> decoder_;
  StopMatcher matcher_;
  const std::function<bool(std::string_view)>& sink_;
  std::string text_;
  bool cancelled_ = false;
};

std::vector<text::Token> prompt_or_bos(std::span<const text::Token> prompt,
                                       const text::Tokenizer* tokenizer) {
  if (!prompt.empty()) return {prompt.begin(), prompt.end()};
  CUPEL_CHECK(tokenizer && tokenizer->bos() >= 0, user,
              "the prompt is empty, and the model has no BOS token to start from");
  return {tokenizer->bos()};
}

bool ends(const text::Tokenizer* tokenizer, text::Token token) {
  if (!tokenizer) return false;
  const auto& ends = tokenizer->end_tokens();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

}  // namespace

text::Generation Session::generate(std::span<const text::Token> prompt,
                                   const text::GenerateOptions& options,
                                   const std::function<bool(std::string_view)>& on_text) {
  const auto& tokenizer = model().tokenizer();
  Sampler sampler(options.sampling);
  start_draft(options.sampling);
  TextStream stream(tokenizer, options.stop, on_text);
  std::vector<text::Token> history = prompt_or_bos(prompt, tokenizer.get());
  const auto given = static_cast<int64_t>(history.size());
  CUPEL_CHECK(given <= max_length(), user, "the prompt has ", given, " tokens, the context holds ",
              max_length());
  const int64_t room = max_length() - given;
  const int64_t limit = options.max_tokens < 0 ? room : std::min(options.max_tokens, room);
  // A vocabulary may be padded: rows without a token are never chosen.
  const int64_t choices = tokenizer ? std::min(vocab(), tokenizer->size()) : vocab();

  text::Generation result;
  result.prompt_tokens = given;
  const double start = now_seconds();
  // The last token is computed again, because its logits are needed.
  const int64_t kept = keep_prefix(history, given - 1);
  auto logits = forward(std::span(history).subspan(static_cast<std::size_t>(kept)), 1);
  const double prompt_end = now_seconds();

  const auto left = [&] { return limit - static_cast<int64_t>(result.tokens.size()); };
  /// Takes the token that follows; false when it was the last.
  const auto take = [&](text::Token token) {
    if (!options.ignore_end && ends(tokenizer.get(), token)) {
      result.finish = text::FinishReason::stop;
      return false;
    }
    history.push_back(token);
    result.tokens.push_back(token);
    stream.push(token);
    return !stream.stopped() && !stream.cancelled() && left() > 0;
  };
  // Row r of the logits follows the first r guesses; the first that is wrong ends the rows.
  std::vector<text::Token> step;  // the last token, then guesses
  for (bool more = left() > 0; more;) {
    const std::size_t rows = step.empty() ? 1 : step.size();
    for (std::size_t r = 0; more && r < rows; ++r) {
      const auto row = logits.subspan(r * static_cast<std::size_t>(vocab()));
      const text::Token token = sampler.pick(row.first(static_cast<std::size_t>(choices)), history);
      more = take(token);
      if (r + 1 == rows || token != step[r + 1]) break;
      ++result.guessed_right;
    }
    rewind(std::min(position(), static_cast<int64_t>(history.size()) - 1));
    if (!more) break;
    step.assign(1, history.back());
    const auto guessed = guesses(history, left() - 1);
    step.insert(step.end(), guessed.begin(), guessed.end());
    result.guessed += static_cast<int64_t>(guessed.size());
    logits = forward(step, static_cast<int64_t>(step.size()));
  }
  stream.finish();
  if (stream.stopped()) result.finish = text::FinishReason::stop;
  if (stream.cancelled()) result.finish = text::FinishReason::cancelled;
  result.text = std::move(stream.text());
  result.prompt_seconds = prompt_end - start;
  result.decode_seconds = now_seconds() - prompt_end;
  return result;
}

}  // namespace cupel::runtime
