// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/echo.h"

#include <limits>

#include "base/error.h"
#include "text/utf8.h"

namespace cupel::eval {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Likeness { same, loose, other };

std::string_view without_front_space(std::string_view s) {
  return s.starts_with(' ') ? s.substr(1) : s;
}

/// Servers show a token as its text, as the vocabulary writes it ("\u0120the"), or by its number.
/// Cut characters have no text of their own; SentencePiece's first space comes and goes.
Likeness compare(std::string_view shown, text::Token id, const text::Tokenizer& tokenizer) {
  const std::string text = tokenizer.decode({&id, 1}, false);
  if (shown == text || tokenizer.find(shown) == id || shown == cat("token_id:", id))
    return Likeness::same;
  const bool cut = text::utf8_valid_prefix(text) != text.size();
  if (shown.empty() || cut || shown.find(kReplacement) != shown.npos) return Likeness::loose;
  return without_front_space(shown) == without_front_space(text) ? Likeness::loose
                                                                 : Likeness::other;
}

/// Where the prompt's tokens begin in the list: 0, or -1 where its BOS is not shown.
std::ptrdiff_t shift_of(std::span<const text::Token> ids, const std::vector<ListedToken>& listed,
                        const text::Tokenizer& tokenizer) {
  const std::size_t n = ids.size(), m = listed.size();
  const bool bos = n > 1 && tokenizer.bos() >= 0 && ids[0] == tokenizer.bos();
  const bool hidden =
      bos &&
      (m + 1 == n || (m == n && compare(listed[0].text, ids[1], tokenizer) == Likeness::same));
  CUPEL_CHECK(hidden || m == n || m == n + 1, environment, "the answer lists ", m,
              " tokens for a prompt of ", n,
              ": the server echoes no prompts, shortens them, or its tokens are other ones");
  return hidden ? -1 : 0;
}

/// Pieces that match but for a space must add up, or a token may have hidden behind another.
void check_texts(std::span<const text::Token> ids, const std::vector<ListedToken>& listed,
                 std::ptrdiff_t shift, const text::Tokenizer& tokenizer) {
  std::string shown;
  bool loose = false, whole = true;
  for (std::size_t i = shift < 0 ? 1 : 0; i < ids.size(); ++i) {
    const std::string& text =
        listed[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) + shift)].text;
    const Likeness likeness = compare(text, ids[i], tokenizer);
    CUPEL_CHECK(likeness != Likeness::other, environment, "token ", i, " of the prompt is ",
                json_quote(text), " on the server, and ",
                json_quote(tokenizer.decode(ids.subspan(i, 1), false)),
                " by --tokenizer: the same text has other tokens there");
    loose = loose || likeness == Likeness::loose;
    whole = whole && !text.empty() && text.find(kReplacement) == text.npos;
    shown += text;
  }
  if (!loose || !whole) return;
  const std::string sent = tokenizer.decode(ids.subspan(shift < 0 ? 1 : 0), false);
  CUPEL_CHECK(without_front_space(shown) == without_front_space(sent), environment,
              "the tokens that the server echoed do not add up to the prompt: ",
              json_quote(shown.substr(0, 100)), " instead of ", json_quote(sent.substr(0, 100)));
}

}  // namespace

PromptScores read_echo(std::span<const text::Token> ids, const std::vector<ListedToken>& listed,
                       const text::Tokenizer& tokenizer, EchoCheck check) {
  const std::ptrdiff_t shift = shift_of(ids, listed, tokenizer);
  if (check == EchoCheck::texts) check_texts(ids, listed, shift, tokenizer);
  PromptScores out;
  out.log_prob.assign(ids.size(), kUnknown);
  out.best.assign(ids.size(), kUnknown);
  const std::size_t shown = shift < 0 ? ids.size() - 1 : ids.size();
  for (std::size_t i = 0; i < shown; ++i) {
    out.log_prob[i + ids.size() - shown] = listed[i].log_prob;
    out.best[i + ids.size() - shown] = listed[i].best;
  }
  out.written = static_cast<int64_t>(listed.size() - shown);
  out.written_log_prob = out.written > 0 ? listed[shown].log_prob : kUnknown;
  return out;
}

}  // namespace cupel::eval
