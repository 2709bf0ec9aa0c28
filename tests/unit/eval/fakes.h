// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/scorer.h"
#include "text/tokenizer.h"

namespace cupel::test {

using text::Token;
using Tokens = std::vector<Token>;

/// One token a character: letters are 0..25, anything else is 26; 27 is BOS, 28 EOS.
class LetterTokenizer : public text::Tokenizer {
 public:
  static constexpr Token kOther = 26, kBos = 27, kEos = 28;
  static constexpr int64_t kSize = 29;
  bool has_bos = false, adds_bos = false;
  Tokens ends = {kEos};

  Tokens encode(std::string_view utf8, text::EncodeOptions options) const override {
    Tokens out;
    if (options.add_special && adds_bos) out.push_back(kBos);
    for (const char c : utf8) out.push_back(c >= 'a' && c <= 'z' ? c - 'a' : kOther);
    return out;
  }
  std::string decode(std::span<const Token> ids, bool skip_special) const override {
    std::string out;
    for (const Token id : ids)
      if (id <= kOther)
        out += id == kOther ? ' ' : static_cast<char>('a' + id);
      else if (!skip_special)
        out += '#';
    return out;
  }
  int64_t size() const override { return kSize; }
  bool is_special(Token id) const override { return id > kOther; }
  Token find(std::string_view) const override { return -1; }
  Token bos() const override { return has_bos ? kBos : -1; }
  const Tokens& end_tokens() const override { return ends; }
  const std::string& chat_template() const override { return none_; }

 private:
  std::string none_;
};

/// Logits by a function of the sequence and the position; remembers what it was asked.
class FakeScorer : public text::Scorer {
 public:
  using Logits = std::function<std::vector<float>(const Tokens& ids, int64_t position)>;
  struct Call {
    Tokens ids;
    int64_t from = 0;
  };
  FakeScorer(std::string name, Logits logits, int64_t vocab = LetterTokenizer::kSize)
      : name_(std::move(name)), logits_(std::move(logits)), vocab_(vocab) {}
  int64_t longest = 1024;
  int64_t piece = 3;  ///< rows handed over at once
  std::vector<Call> calls;

  int64_t vocab() const override { return vocab_; }
  int64_t max_length() const override { return longest; }
  std::string description() const override { return name_; }
  void score(std::span<const Token> ids, int64_t from, const text::LogitSink& sink) override {
    calls.push_back({Tokens(ids.begin(), ids.end()), from});
    const auto end = static_cast<int64_t>(ids.size());
    for (int64_t first = from; first < end; first += piece) {
      const int64_t rows = std::min(piece, end - first);
      std::vector<float> block;
      for (int64_t p = first; p < first + rows; ++p) {
        const auto row = logits_(calls.back().ids, p);
        block.insert(block.end(), row.begin(), row.end());
      }
      sink({first, rows, vocab_, block.data()});
    }
  }

 private:
  std::string name_;
  Logits logits_;
  int64_t vocab_;
};

inline std::vector<float> one_hot(Token token, float logit) {
  std::vector<float> out(LetterTokenizer::kSize, 0.0f);
  out[static_cast<std::size_t>(token)] = logit;
  return out;
}
/// Expects the token that it has just read again.
inline FakeScorer repeater(float logit) {
  return {"repeater", [=](const Tokens& ids, int64_t p) {
            return one_hot(ids[static_cast<std::size_t>(p)], logit);
          }};
}
inline FakeScorer uniform() {
  return {"uniform", [](const Tokens&, int64_t) { return one_hot(0, 0); }};
}

/// The Error that `body` throws; a test failure if it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(Fault::internal, "");
}

}  // namespace cupel::test
