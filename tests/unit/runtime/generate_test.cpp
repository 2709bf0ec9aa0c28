// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Generation on a model that says a fixed sequence of tokens: its layers add nothing, its embedding
// is one-hot, and its head maps each token to the one that follows it.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/draft.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

using text::FinishReason;
using text::Token;

constexpr Token kStart = 0, kEnd = 1, kFirst = 2;

/// Byte-level spelling of the bytes that the tests use.
std::string byte_level(std::string_view bytes) {
  static const std::map<unsigned char, std::string> kHigh{{0xF0, "ð"}, {0x9F, "Ł"}, {0x98, "ĺ"},
                                                          {0x80, "Ģ"}, {'\n', "Ċ"}, {' ', "Ġ"}};
  std::string out;
  for (const char c : bytes) {
    const auto found = kHigh.find(static_cast<unsigned char>(c));
    out += found == kHigh.end() ? std::string(1, c) : found->second;
  }
  return out;
}

/// Tokens: <s>, </s>, then the pieces in order.
std::string tokenizer_json(const std::vector<std::string>& pieces, bool bos) {
  nlohmann::json json;
  json["model"] = {{"type", "BPE"}, {"merges", nlohmann::json::array()}};
  auto& vocab = json["model"]["vocab"];
  vocab = nlohmann::json::object();
  vocab["<s>"] = kStart;
  vocab["</s>"] = kEnd;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    vocab[byte_level(pieces[i])] = kFirst + static_cast<Token>(i);
  json["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  json["decoder"] = {{"type", "ByteLevel"}};
  json["added_tokens"] = nlohmann::json::array();
  for (const auto& [id, text] : {std::pair{kStart, "<s>"}, std::pair{kEnd, "</s>"}})
    json["added_tokens"].push_back({{"id", id},
                                    {"content", text},
                                    {"special", true},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false}});
  json["cupel"] = {{"end_tokens", {kEnd}}};
  if (bos) json["cupel"]["bos"] = kStart;
  return json.dump();
}

/// Says `pieces` one after the other and then the end token, over and over.
std::shared_ptr<const Model> speaker(const std::vector<std::string>& pieces, bool bos = true,
                                     int64_t padding = 0) {
  TinyModel model = make_tiny(1, false);
  auto& c = model.config;
  const auto tokens = static_cast<int64_t>(pieces.size()) + 2;
  c.vocab = tokens + padding;
  const auto width = static_cast<std::size_t>(c.hidden);
  for (int l = 0; l < c.layers; ++l)
    for (const auto role : {format::Role::output, format::Role::down})
      std::fill(model.at(role, l).begin(), model.at(role, l).end(), 0.F);
  model.at(format::Role::final_norm).assign(width, 1.F);
  auto &embedding = model.at(format::Role::embedding), &head = model.at(format::Role::head);
  embedding.assign(static_cast<std::size_t>(c.vocab) * width, 0.F);
  head = embedding;
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t next = t == kEnd         ? kFirst
                         : t == tokens - 1 ? kEnd
                                           : std::max<int64_t>(kFirst, t + 1);
    embedding[static_cast<std::size_t>(t * c.hidden + t)] = 1;
    head[static_cast<std::size_t>(next * c.hidden + t)] = 1;
    // Padded rows would win if they were asked.
    for (int64_t p = tokens; p < c.vocab; ++p) head[static_cast<std::size_t>(p * c.hidden + t)] = 2;
  }
  static int count = 0;
  return Model::open(write_packed(model, {}, cat("speaker", count++, ".cupel"), nullptr,
                                  tokenizer_json(pieces, bos)),
                     {});
}

text::GenerateOptions greedy(std::vector<std::string> stop = {}) {
  text::GenerateOptions options;
  options.sampling.temperature = 0;
  options.stop = std::move(stop);
  return options;
}

struct Streamed {
  text::Generation result;
  std::vector<std::string> pieces;
};
Streamed say(const std::vector<std::string>& pieces, const text::GenerateOptions& options) {
  Session session(speaker(pieces), {.threads = 1});
  Streamed out;
  out.result = session.generate(std::vector<Token>{kStart}, options, [&](std::string_view text) {
    out.pieces.emplace_back(text);
    return true;
  });
  std::string all;
  for (const auto& piece : out.pieces) all += piece;
  EXPECT_EQ(all, out.result.text);
  return out;
}

TEST(Generate, EndsAtTheEndToken) {
  const auto out = say({"one", " two", " three"}, greedy());
  EXPECT_EQ(out.result.text, "one two three");
  EXPECT_EQ(out.result.tokens, (std::vector<Token>{2, 3, 4}));
  EXPECT_EQ(out.result.finish, FinishReason::stop);
  EXPECT_EQ(out.result.prompt_tokens, 1);
  EXPECT_EQ(out.pieces.size(), 3u);
}

TEST(Generate, StopsAtTheLengthAskedFor) {
  auto options = greedy();
  options.max_tokens = 2;
  const auto out = say({"one", " two", " three"}, options);
  EXPECT_EQ(out.result.text, "one two");
  EXPECT_EQ(out.result.finish, FinishReason::length);
  options.max_tokens = 0;
  EXPECT_TRUE(say({"one"}, options).result.tokens.empty());
}

TEST(Generate, IgnoresTheEndWhenTold) {
  auto options = greedy();
  options.ignore_end = true;
  options.max_tokens = 5;
  const auto out = say({"a", "b"}, options);
  EXPECT_EQ(out.result.tokens, (std::vector<Token>{2, 3, 1, 2, 3}));
  EXPECT_EQ(out.result.finish, FinishReason::length);
}

TEST(Generate, AStopTextAcrossTokensNeverShows) {
  const auto out = say({"ABC", "DEF", "G", "HI", "J", "K"}, greedy({"DEFGHIJ"}));
  EXPECT_EQ(out.result.text, "ABC");
  EXPECT_EQ(out.result.finish, FinishReason::stop);
  EXPECT_EQ(out.pieces, (std::vector<std::string>{"ABC"}));
}

TEST(Generate, HeldTextComesBackAtTheEnd) {
  EXPECT_EQ(say({"the", " E", "N"}, greedy({"END"})).result.text, "the EN");
}

TEST(Generate, CharactersComeWhole) {
  const auto out = say({"a", "\xF0\x9F", "\x98\x80", "b"}, greedy());
  EXPECT_EQ(out.result.text,
            "a\xF0\x9F\x98\x80"
            "b");
  EXPECT_EQ(out.pieces, (std::vector<std::string>{"a", "\xF0\x9F\x98\x80", "b"}));
}

TEST(Generate, ACutCharacterAtTheEndIsReplaced) {
  EXPECT_EQ(say({"a", "\xF0\x9F"}, greedy()).result.text, "a\xEF\xBF\xBD");
}

TEST(Generate, CanBeCancelled) {
  Session session(speaker({"one", " two", " three"}), {.threads = 1});
  std::string seen;
  const auto result =
      session.generate(std::vector<Token>{kStart}, greedy(), [&](std::string_view text) {
        seen += text;
        return seen.size() < 5;
      });
  EXPECT_EQ(result.finish, FinishReason::cancelled);
  EXPECT_EQ(result.text, "one two");
}

TEST(Generate, AnEmptyPromptIsTheBeginningOfText) {
  Session session(speaker({"one"}), {.threads = 1});
  EXPECT_EQ(session.generate({}, greedy(), {}).text, "one");
  Session without(speaker({"one"}, false), {.threads = 1});
  EXPECT_THROW(without.generate({}, greedy(), {}), Error);
}

TEST(Generate, TheContextBoundsIt) {
  Session session(speaker({"a", "b", "c", "d", "e", "f"}), {.threads = 1, .context = 4});
  const auto result = session.generate(std::vector<Token>{kStart, kStart}, greedy(), {});
  EXPECT_EQ(result.text, "ab");
  EXPECT_EQ(result.finish, FinishReason::length);
  try {
    session.generate(std::vector<Token>(5, kStart), greedy(), {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find("5 tokens"), std::string::npos);
    EXPECT_NE(e.message().find("holds 4"), std::string::npos);
  }
}

TEST(Generate, PaddedRowsOfTheVocabularyAreNeverChosen) {
  Session session(speaker({"one", " two"}, true, 5), {.threads = 1});
  EXPECT_EQ(session.generate(std::vector<Token>{kStart}, greedy(), {}).text, "one two");
}

TEST(Generate, ADraftKeepsTextAndStops) {
  const std::vector<std::string> pieces = {"ABC", "DEF", "G", "HI", "J", "K"};
  const auto model = speaker(pieces);
  for (const auto& stops : {std::vector<std::string>{}, {"DEFGHIJ"}, {"HIJK"}}) {
    Session session(model, {.threads = 1});
    session.set_draft(std::make_shared<ModelDraft>(model, SessionOptions{.threads = 1}, *model), 4);
    const auto drafted = session.generate(std::vector<Token>{kStart}, greedy(stops), {});
    const auto plain = say(pieces, greedy(stops)).result;
    EXPECT_EQ(drafted.text, plain.text);
    EXPECT_EQ(drafted.tokens, plain.tokens);
    EXPECT_EQ(drafted.finish, plain.finish);
  }
}

TEST(Generate, ADraftWithOtherTokensIsRefused) {
  const auto model = speaker({"a", "b"}), other = speaker({"a", "c"});
  try {
    ModelDraft(other, {.threads = 1}, *model);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find("token 3"), std::string::npos) << e.message();
  }
}

TEST(Generate, TheSamePromptTwiceGivesTheSame) {
  const TinyModel tiny = make_tiny(21, true);
  const auto model = Model::open(write_packed(tiny, {.layout = "uniform"}, "twice.cupel"), {});
  text::GenerateOptions options;
  options.max_tokens = 30;
  options.sampling.seed = 3;
  const std::vector<Token> prompt{5, 6, 7};
  Session session(model, {.threads = 2});
  const auto first = session.generate(prompt, options, {}).tokens;
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(session.generate(prompt, options, {}).tokens, first);
  EXPECT_EQ(Session(model, {.threads = 1}).generate(prompt, options, {}).tokens, first);
  options.sampling.seed = 4;
  EXPECT_NE(session.generate(prompt, options, {}).tokens, first);
  // Stopped and taken up again: draws depend on the position alone.
  options.sampling.seed = 3;
  std::vector<Token> longer = prompt;
  longer.insert(longer.end(), first.begin(), first.begin() + 10);
  options.max_tokens = 20;
  EXPECT_EQ(session.generate(longer, options, {}).tokens,
            std::vector<Token>(first.begin() + 10, first.end()));
  options.stop = {"x"};
  EXPECT_THROW(session.generate(prompt, options, {}), Error);
}

}  // namespace
}  // namespace cupel::runtime
