// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Golden ids and texts of the shared fixtures. CUPEL_SHARED is the folder that holds `fixtures`;
// CUPEL_TOKENIZERS one with real vocabularies as NAME/tokenizer.json; CUPEL_WIKITEXT the joined
// test text of WikiText-2.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support.h"
#include "text/chat_template.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

using nlohmann::json;

#define NEED_FIXTURES(path) \
  if ((path).empty()) GTEST_SKIP() << "needs the shared fixtures (set CUPEL_SHARED)"

// The texts hold lone surrogates, which are not JSON to our parser: each is one U+FFFD.
std::vector<std::string> torture_texts() {
  std::vector<std::string> out;
  for (std::string line : test::lines_of(test::shared_file("tokenizers/torture.jsonl"))) {
    std::string fixed;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string unit = line.substr(i, 6);
      const auto surrogate = [](const std::string& u, char low, char high) {
        return u.size() == 6 && u.starts_with("\\u") && (u[2] | 0x20) == 'd' &&
               (u[3] | 0x20) >= low && (u[3] | 0x20) <= high;
      };
      const bool escape = line[i] == '\\' && i + 1 < line.size();
      const bool first = surrogate(unit, '8', 'b'),
                 second = surrogate(line.substr(std::min(i + 6, line.size()), 6), 'c', 'f');
      if (first && second) {
        fixed += line.substr(i, 12);
        i += 11;
      } else if (first || surrogate(unit, 'c', 'f')) {
        fixed += "\\ufffd";
        i += 5;
      } else if (escape) {
        fixed += line.substr(i, 2);
        ++i;
      } else {
        fixed += line[i];
      }
    }
    out.push_back(json::parse(fixed).at("text"));
  }
  return out;
}

bool as_expected(const json& want, const std::vector<Token>& got) {
  if (want.contains("ids")) return got == want.at("ids").get<std::vector<Token>>();
  if (got.size() != want.at("n").get<std::size_t>()) return false;
  if (!want.contains("head")) return true;
  const auto head = want.at("head").get<std::vector<Token>>(),
             tail = want.at("tail").get<std::vector<Token>>();
  return std::equal(head.begin(), head.end(), got.begin()) &&
         std::equal(tail.rbegin(), tail.rend(), got.rbegin());
}

// Their expectations were made by SentencePiece, to which control pieces in a text are text.
bool is_sentencepiece(const std::string& name) {
  return name == "llama2" || name.starts_with("mistral_v");
}

std::string streamed(const std::shared_ptr<const Tokenizer>& t, const std::vector<Token>& ids) {
  StreamDecoder decoder(t);
  std::string out;
  for (const Token id : ids) out += decoder.push(id);
  return out + decoder.finish();
}

TEST(Fixtures, TinyTokenizers) {
  const std::string path = test::shared_file("tokenizers/tiny_expected.jsonl");
  NEED_FIXTURES(path);
  const auto texts = torture_texts();
  std::map<std::string, std::shared_ptr<const Tokenizer>> tokenizers;
  int right = 0, total = 0;
  for (const std::string& line : test::lines_of(path)) {
    const json want = json::parse(line);
    const std::string name = want.at("tok");
    auto& t = tokenizers[name];
    if (!t)
      t = Tokenizer::from_json(read_text(test::shared_file("tokenizers/tiny/" + name + ".json")));
    const std::string& text = texts.at(want.at("line"));
    const auto ids = t->encode(text, {.special_text = true});
    // Some expectations include what the post-processor adds.
    const auto with_more = t->encode(text, {.special_text = true, .add_special = true});
    const bool good = as_expected(want, ids) || as_expected(want, with_more);
    EXPECT_TRUE(good) << name << " line " << want.at("line");
    EXPECT_EQ(streamed(t, ids), utf8_lossy(t->decode(ids))) << name << " line " << want.at("line");
    right += good;
    ++total;
  }
  EXPECT_EQ(right, total);
  EXPECT_GT(total, 1000);
}

// Lengths in bytes of the pieces that the pre-tokenizers make of a text, without the normalizer.
std::vector<int64_t> piece_lengths(const TokenizerJson& file, std::string_view text) {
  const Part root = file.root();
  const PreTokenizers pre = make_pretokenizers(root.child("pre_tokenizer"));
  std::vector<int64_t> out;
  const auto count = [&](const Piece& piece) {
    out.push_back(static_cast<int64_t>(piece.text.size()));
  };
  if (!text.empty()) pre.steps ? pre.steps->split({text, true}, count) : count({text, true});
  return out;
}

TEST(Fixtures, Splits) {
  const std::string path = test::shared_file("tokenizers/torture_splits.jsonl");
  NEED_FIXTURES(path);
  const auto texts = torture_texts();
  std::map<std::string, std::unique_ptr<TokenizerJson>> tokenizers;
  int total = 0;
  for (const std::string& line : test::lines_of(path)) {
    const json want = json::parse(line);
    const std::string name = want.at("pre");
    const std::string file = test::shared_file("tokenizers/tiny/" + name + ".json");
    if (!std::filesystem::exists(file)) continue;
    auto& t = tokenizers[name];
    if (!t) t = std::make_unique<TokenizerJson>(read_text(file));
    const auto got = piece_lengths(*t, texts.at(want.at("line")));
    EXPECT_EQ(got.size(), want.at("n").get<std::size_t>()) << name << " line " << want.at("line");
    if (want.contains("lens")) {
      EXPECT_EQ(got, want.at("lens").get<std::vector<int64_t>>())
          << name << " line " << want.at("line");
    }
    ++total;
  }
  EXPECT_GT(total, 1000);
}

TEST(Fixtures, RealVocabularies) {
  const std::string path = test::shared_file("tokenizers/torture_real_ids.jsonl");
  NEED_FIXTURES(path);
  const char* folder = std::getenv("CUPEL_TOKENIZERS");
  if (!folder)
    GTEST_SKIP()
        << "needs real vocabularies (set CUPEL_TOKENIZERS to a folder with NAME/tokenizer.json)";
  const auto texts = torture_texts();
  std::map<std::string, std::shared_ptr<const Tokenizer>> tokenizers;
  int total = 0;
  for (const std::string& line : test::lines_of(path)) {
    const json want = json::parse(line);
    const std::string name = want.at("tok"), file = cat(folder, "/", name, "/tokenizer.json");
    if (!std::filesystem::exists(file)) continue;
    auto& t = tokenizers[name];
    if (!t) t = Tokenizer::from_json(read_text(file));
    const std::string& text = texts.at(want.at("line"));
    if (want.contains("ids_plain"))
      EXPECT_EQ(t->encode(text), want.at("ids_plain").get<std::vector<Token>>())
          << name << " line " << want.at("line");
    else
      EXPECT_TRUE(as_expected(want, t->encode(text, {.special_text = !is_sentencepiece(name)})))
          << name << " line " << want.at("line");
    ++total;
  }
  EXPECT_GT(total, 100);
}

TEST(Fixtures, WikiText) {
  const char *text = std::getenv("CUPEL_WIKITEXT"), *folder = std::getenv("CUPEL_TOKENIZERS");
  if (!text || !folder)
    GTEST_SKIP()
        << "needs WikiText-2 and SmolLM2's vocabulary (set CUPEL_WIKITEXT and CUPEL_TOKENIZERS)";
  const auto t = Tokenizer::from_json(read_text(cat(folder, "/smollm2/tokenizer.json")));
  const auto ids = t->encode(read_text(text));
  ASSERT_EQ(ids.size(), 304978u);
  EXPECT_EQ(std::vector<Token>(ids.begin(), ids.begin() + 9),
            (std::vector<Token>{1116, 446, 6356, 389, 9226, 352, 446, 38028, 16506}));
}

TEST(Fixtures, MicroTemplates) {
  const std::string path = test::shared_file("chat/jinja_micro.jsonl");
  NEED_FIXTURES(path);
  const std::string context = read_text(test::shared_file("chat/jinja_micro_context.json"));
  ::setenv("SOURCE_DATE_EPOCH", "1795952707", 1);  // 2026-11-29 11:45:07
  for (const std::string& line : test::lines_of(path)) {
    const json want = json::parse(line);
    const std::string source = want.at("t");
    if (want.contains("out"))
      EXPECT_EQ(Template::parse(source).render(context), want.at("out").get<std::string>())
          << source;
    else
      EXPECT_EQ(test::error_of([&] { Template::parse(source).render(context); }).fault(),
                Fault::data)
          << source;
  }
  ::unsetenv("SOURCE_DATE_EPOCH");
}

}  // namespace
}  // namespace cupel::text
