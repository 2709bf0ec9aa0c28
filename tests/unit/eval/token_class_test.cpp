// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/token_class.h"

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using test::Token;

/// Each token has a text; the first of a text may lose its space, as with SentencePiece.
class WordTokenizer : public test::LetterTokenizer {
 public:
  explicit WordTokenizer(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  bool drops_first_space = false;

  std::string decode(std::span<const Token> ids, bool) const override {
    std::string out;
    for (const Token id : ids) out += texts_[static_cast<std::size_t>(id)];
    return drops_first_space && out.starts_with(" ") ? out.substr(1) : out;
  }
  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  bool is_special(Token id) const override {
    return texts_[static_cast<std::size_t>(id)] == "<special>";
  }

 private:
  std::vector<std::string> texts_;
};

std::string_view name_of(const std::string& before, const std::string& text) {
  const WordTokenizer tokenizer({before, text});
  return token_class_name(TokenClasses(tokenizer).of(0, 1));
}

TEST(TokenClass, ByTheFirstCharacterBehindWhiteSpace) {
  EXPECT_EQ(name_of("a", " the"), "word start");
  EXPECT_EQ(name_of("a", "ing"), "word continuation");
  EXPECT_EQ(name_of("a", " 7"), "digits");
  EXPECT_EQ(name_of("a", "7th"), "digits");
  EXPECT_EQ(name_of("a", "\xD9\xA3"), "digits");  // Arabic three
  EXPECT_EQ(name_of("a", " ("), "punctuation");
  EXPECT_EQ(name_of("a", "'s"), "punctuation");
  EXPECT_EQ(name_of("a", "+"), "punctuation");
  EXPECT_EQ(name_of("a", "\n\n"), "white space");
  EXPECT_EQ(name_of("a", "\xE3\x80\x80"), "white space");
  EXPECT_EQ(name_of("a", "<special>"), "other");
  EXPECT_EQ(name_of("a", "\xC3"), "other");          // half a character
  EXPECT_EQ(name_of("a", "\xEF\xBF\xBD"), "other");  // and how some decoders show it
  EXPECT_EQ(name_of("a", ""), "other");
  EXPECT_EQ(name_of("a", std::string(1, '\0')), "other");
}

TEST(TokenClass, AWordStartsWhereTheTokenBeforeEndsNone) {
  EXPECT_EQ(name_of("\n", "The"), "word start");
  EXPECT_EQ(name_of(" (", "see"), "word start");
  EXPECT_EQ(name_of(" ", "word"), "word start");
  EXPECT_EQ(name_of("<special>", "Hello"), "word start");
  EXPECT_EQ(name_of("3", "rd"), "word continuation");
  EXPECT_EQ(name_of("caf\xC3\xA9", "s"), "word continuation");
}

TEST(TokenClass, TextKeepsTheSpaceThatTheStartOfATextLoses) {
  WordTokenizer tokenizer({" the", "the"});
  tokenizer.drops_first_space = true;
  EXPECT_EQ(token_text(tokenizer, 0), " the");
  EXPECT_EQ(token_text(tokenizer, 1), "the");
}

TEST(Vocabulary, HashTellsTextsAndTheirOrder) {
  const std::string one = vocabulary_sha256(WordTokenizer({"a", "bc"}));
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one, vocabulary_sha256(WordTokenizer({"a", "bc"})));
  EXPECT_NE(one, vocabulary_sha256(WordTokenizer({"bc", "a"})));
  EXPECT_NE(one, vocabulary_sha256(WordTokenizer({"ab", "c"})));
}

}  // namespace
}  // namespace cupel::eval
