// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "files_util.h"
#include "format/checkpoint.h"

namespace cupel::format {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::raw;

class GgufTest : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) { return folder_.write("m.gguf", bytes); }
  void expect_bad(std::string_view part, const std::string& bytes) {
    const auto path = write(bytes);
    expect_error(Fault::data, part, [&] { open_gguf(path); });
  }
  test::TempFolder folder_;
};

GgufBuilder small() {
  GgufBuilder b;
  b.text("general.architecture", "llama").u32("n", 7).f32("eps", 1e-5f).flag("on", true);
  b.texts("words", {"a", "", "b c"}).i32s("many", std::vector<int32_t>(17, -3));
  b.tensor("w", {2, 3}, 0, test::raw_floats({1, 2, 3, 4, 5, 6}))
      .tensor("q", {32}, 2, std::string(18, 'x'));
  return b;
}

TEST_F(GgufTest, ReadsValuesAndTensors) {
  const GgufFile f(write(small().bytes()));
  EXPECT_EQ(f.kind(), "gguf v3");
  EXPECT_EQ(f.text("general.architecture"), "llama");
  EXPECT_EQ(f.integer("n"), 7);
  EXPECT_EQ(f.real("eps"), 1e-5);
  EXPECT_EQ(f.flag("on"), true);
  EXPECT_EQ(f.integer("absent"), std::nullopt);
  EXPECT_EQ(*f.texts("words"), (std::vector<std::string_view>{"a", "", "b c"}));
  EXPECT_EQ(f.integers("many")->at(16), -3);
  ASSERT_NE(f.find("w"), nullptr);
  EXPECT_EQ(f.find("w")->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(f.find("q")->type, ElementType::q4_0);
  EXPECT_EQ(f.find("q")->bytes.size(), 18u);
  const auto json = nlohmann::json::parse(f.metadata_json());
  EXPECT_EQ(json["words"], nlohmann::json({"a", "", "b c"}));
  EXPECT_EQ(json["many"]["count"], 17);
}

TEST_F(GgufTest, GettersAreTyped) {
  const GgufFile f(write(small().bytes()));
  expect_error(Fault::data, "'n'", [&] { f.text("n"); });
  expect_error(Fault::data, "'eps'", [&] { f.integer("eps"); });
  expect_error(Fault::data, "'words'", [&] { f.text("words"); });
  expect_error(Fault::data, "'n'", [&] { f.flag("n"); });
}

TEST_F(GgufTest, EveryCutOfAFileIsRefused) {
  const std::string whole = small().bytes();
  for (std::size_t size = 0; size < whole.size() - 14; ++size)
    expect_bad("", whole.substr(0, size));
  const auto path = write(whole.substr(0, whole.size() - 14));  // the last padding only
  EXPECT_EQ(open_gguf(path)->notes().size(), 1u);
}

TEST_F(GgufTest, RandomDamageNeverCrashes) {
  const std::string whole = small().bytes();
  uint32_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 2; ++k) {
      state = state * 1664525u + 1013904223u;
      bytes[(state >> 8) % bytes.size()] = static_cast<char>(state >> 3 & 255);
    }
    const auto path = write(bytes);
    try {
      open_gguf(path)->metadata_json();
    } catch (const Error& e) {
      ASSERT_EQ(e.fault(), Fault::data) << e.what();
    }
  }
}

TEST_F(GgufTest, RefusesBadMetadata) {
  const auto with = [](const std::string& key, uint32_t type, const std::string& bytes) {
    return GgufBuilder().value(key, type, bytes).bytes();
  };
  expect_bad("occurs twice", GgufBuilder().u32("a", 1).f32("a", 1).bytes());
  expect_bad("array of arrays", with("a", 9, raw(uint32_t{9}) + raw(uint64_t{0})));
  expect_bad("only", with("a", 9, raw(uint32_t{10}) + raw(uint64_t{1} << 61)));
  expect_bad("boolean", with("a", 7, "\x02"));
  expect_bad("power of two", GgufBuilder().u32("general.alignment", 24).bytes());
  expect_bad("u32 expected", with("general.alignment", 5, raw(int32_t{32})));
  expect_bad("UTF-8", GgufBuilder().u32("\xc0\x80", 1).bytes());
  expect_bad("NUL", GgufBuilder().u32(std::string("a\0", 2), 1).bytes());
  expect_bad("version 4", GgufBuilder().bytes(4));
  expect_bad("byte order", GgufBuilder().bytes(3u << 24));
}

TEST_F(GgufTest, RefusesBadTensors) {
  const auto with = [](const std::vector<uint64_t>& dims, uint32_t type, const std::string& data) {
    return GgufBuilder().tensor("t", dims, type, data).bytes();
  };
  expect_bad("whole blocks", with({16, 2}, 2, std::string(18, 'x')));
  expect_bad("element type 4 (Q4_2", with({4}, 4, ""));
  expect_bad("element type 31 (the interleaved Q4_0_4_4", with({4}, 31, ""));
  expect_bad("element type 99", with({4}, 99, ""));
  expect_bad("dimensions", with({1, 1, 1, 1, 1}, 0, "xxxx"));
  expect_bad("impossible", with({0, uint64_t{1} << 62, 4}, 0, ""));
  expect_bad("behind the end", with({uint64_t{1} << 40}, 0, "xxxx"));
  expect_bad("occurs twice", [] { return GgufBuilder().u32("k", 1).u32("k", 1).bytes(); }());
  expect_bad("listed twice",
             GgufBuilder().tensor("t", {1}, 0, "xxxx").tensor("t", {1}, 0, "xxxx").bytes());
}

GgufBuilder tokenizer(const std::string& model, const std::vector<std::string>& tokens,
                      const std::vector<int32_t>& types) {
  GgufBuilder b;
  b.text("tokenizer.ggml.model", model).texts("tokenizer.ggml.tokens", tokens);
  b.i32s("tokenizer.ggml.token_type", types);
  return b;
}

TEST_F(GgufTest, TokenizerOfBytePairs) {
  auto b = tokenizer("gpt2", {"<|im_end|>", "a", "b", "ab", "<x>"}, {3, 1, 1, 1, 4});
  b.text("tokenizer.ggml.pre", "llama-bpe").texts("tokenizer.ggml.merges", {"a b"});
  b.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  b.text("tokenizer.chat_template", "{{ x }}");
  const auto json = nlohmann::json::parse(tokenizer_json_of(write(b.bytes())));
  EXPECT_EQ(json["model"]["vocab"]["ab"], 3);
  EXPECT_EQ(json["model"]["merges"], nlohmann::json::parse(R"([["a","b"]])"));
  EXPECT_EQ(json["model"]["ignore_merges"], true);
  ASSERT_EQ(json["added_tokens"].size(), 2u);
  EXPECT_EQ(json["added_tokens"][0]["special"], true);
  EXPECT_EQ(json["added_tokens"][1]["special"], false);
  EXPECT_EQ(json["cupel"]["bos"], 1);
  EXPECT_EQ(json["cupel"]["end_tokens"], nlohmann::json({0, 2}));
  EXPECT_EQ(json["cupel"]["add_bos"], true);
  EXPECT_EQ(json["cupel"]["chat_template"], "{{ x }}");
  EXPECT_EQ(json["post_processor"]["single"][0]["SpecialToken"]["id"], "a");
}

TEST_F(GgufTest, TokenizerErrors) {
  const auto expect_bad_tokenizer = [&](std::string_view part, GgufBuilder b) {
    const auto path = write(b.bytes());
    expect_error(Fault::data, part, [&] { tokenizer_json_of(path); });
  };
  auto unknown = tokenizer("gpt2", {"a"}, {1});
  expect_bad_tokenizer("'made-up'", unknown.text("tokenizer.ggml.pre", "made-up"));
  expect_bad_tokenizer("'t5'", tokenizer("t5", {"a"}, {1}));
  expect_bad_tokenizer("twice", tokenizer("gpt2", {"a", "a"}, {1, 1}));
  expect_bad_tokenizer("merges", tokenizer("gpt2", {"a"}, {1}));
  expect_bad_tokenizer("token_type", tokenizer("gpt2", {"a"}, {1, 1}));
  auto outside = tokenizer("gpt2", {"a"}, {1});
  expect_bad_tokenizer("bos", outside.u32("tokenizer.ggml.bos_token_id", 1));
}

TEST_F(GgufTest, TokenizerOfScores) {
  auto b = tokenizer("llama",
                     {"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "a", "\u2581a", "aa", "\u2581aa"},
                     {2, 3, 3, 6, 1, 1, 1, 1, 1});
  b.f32s("tokenizer.ggml.scores", {0, 0, 0, 0, -9, -9, -1, -2, -3});
  b.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  const auto json = nlohmann::json::parse(tokenizer_json_of(write(b.bytes())));
  EXPECT_EQ(json["model"]["byte_fallback"], true);
  EXPECT_EQ(json["model"]["unk_token"], "<unk>");
  EXPECT_EQ(json["model"]["merges"],
            nlohmann::json::parse(R"([["\u2581","a"],["a","a"],["\u2581a","a"],["\u2581","aa"]])"));
  EXPECT_EQ(json["cupel"]["add_bos"], true);
  EXPECT_EQ(json["cupel"]["end_tokens"], nlohmann::json({2}));
}

TEST(GgufFixture, Cases) {
  const std::string path = test::shared_path("fixtures/formats/gguf_cases.jsonl");
  if (path.empty()) GTEST_SKIP() << "fixtures/formats/gguf_cases.jsonl is missing";
  test::check_cases(path, ".gguf", [](const std::string& p) { open_container(p); });
}

}  // namespace
}  // namespace cupel::format
