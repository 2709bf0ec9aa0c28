// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/requests.h"

#include <gtest/gtest.h>

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;
using test::LetterTokenizer;

/// Letters, but "ab" is one token (100): encoding the parts apart gives other tokens than the
/// whole.
class MergingTokenizer : public LetterTokenizer {
 public:
  Tokens encode(std::string_view utf8, text::EncodeOptions options) const override {
    const Tokens plain = LetterTokenizer::encode(utf8, options);
    Tokens out;
    for (const text::Token id : plain) {
      if (id == 1 && !out.empty() && out.back() == 0)
        out.back() = 100;
      else
        out.push_back(id);
    }
    return out;
  }
};

class BosTokenizer : public LetterTokenizer {
 public:
  BosTokenizer() { has_bos = adds_bos = true; }
  Tokens encode(std::string_view utf8, text::EncodeOptions options) const override {
    Tokens out;
    if (utf8.starts_with("<s>")) {
      out.push_back(kBos);
      utf8.remove_prefix(3);
    }
    const Tokens rest = LetterTokenizer::encode(utf8, {options.special_text, false});
    if (options.add_special) out.insert(out.begin(), kBos);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
  std::string special_text(std::string_view) const override { return "<s>"; }
};

TEST(EncodeRequest, SpaceAtTheEndOfTheContextMoves) {
  const LetterTokenizer t;
  const Request r = encode_request(t, "ab \n", "c");
  EXPECT_EQ(r.context, (Tokens{0, 1}));
  EXPECT_EQ(r.continuation, (Tokens{26, 26, 2}));
}

TEST(EncodeRequest, TheWholeIsEncodedAndCutBehindTheContext) {
  // harness#531, llama.cpp#2805: never the parts apart. Where the boundary merges, the context
  // keeps its own tokens and the continuation what is left of the whole.
  const MergingTokenizer t;
  const Request r = encode_request(t, "xa", "bc");
  EXPECT_EQ(r.context, (Tokens{23, 0}));
  EXPECT_EQ(r.continuation, (Tokens{2}));
}

TEST(EncodeRequest, NothingLeftIsAnError) {
  // harness#1053: a continuation of no tokens must not score 0.
  const MergingTokenizer t;
  EXPECT_EQ(error_of([&] { encode_request(t, "xa", "b"); }).fault(), Fault::data);
  EXPECT_EQ(error_of([&] { encode_request(t, "xa", ""); }).fault(), Fault::data);
}

TEST(EncodeRequest, EmptyContextIsBosElseEos) {
  LetterTokenizer none;
  EXPECT_EQ(encode_request(none, "", "a").context, Tokens{LetterTokenizer::kEos});
  none.has_bos = true;
  EXPECT_EQ(encode_request(none, "", "a").context, Tokens{LetterTokenizer::kBos});
  none.has_bos = false;
  none.ends.clear();
  EXPECT_EQ(error_of([&] { encode_request(none, "", "a"); }).fault(), Fault::data);
}

TEST(EncodeRequest, OneBosOnly) {
  const BosTokenizer t;
  EXPECT_EQ(encode_request(t, "a", "b").context, (Tokens{27, 0}));
  EXPECT_EQ(encode_request(t, "<s>a", "b").context, (Tokens{27, 0}));
  EXPECT_EQ(encode_request(t, "a", "b").continuation, (Tokens{1}));
}

}  // namespace
}  // namespace cupel::eval
