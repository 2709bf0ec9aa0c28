// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// A folder whose only tokenizer is a SentencePiece protobuf.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "base/file.h"
#include "format/checkpoint.h"
#include "format/standard_tokenizer.h"
#include "support.h"

namespace cupel::text {
namespace {

namespace fs = std::filesystem;

std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(static_cast<unsigned char>(v | 0x80));
  return out += static_cast<char>(static_cast<unsigned char>(v));
}
std::string number(int field, uint64_t v) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(v);
}
std::string bytes(int field, const std::string& v) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(v.size()) + v;
}
std::string real(int field, float v) {
  std::string out = varint(static_cast<uint64_t>(field) << 3 | 5);
  auto bits = std::bit_cast<uint32_t>(v);
  for (int i = 0; i < 4; ++i, bits >>= 8)
    out += static_cast<char>(static_cast<unsigned char>(bits & 0xFF));
  return out;
}
std::string piece(const std::string& text, float score, uint64_t type = 1) {
  return bytes(1, bytes(1, text) + real(2, score) + (type == 1 ? "" : number(3, type)));
}

std::string model(uint64_t kind = 2, bool user_defined = true, uint64_t remove_extra = 0) {
  std::string out = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
  for (const char* c : {"\u2581", "a", "b"}) out += piece(c, -9);
  out += piece("\u2581ab", -3) + piece("ab", -2);
  if (user_defined) out += piece("[X]", 0, 4);
  // pad_id -1 is ten bytes long.
  const std::string trainer = number(3, kind) + number(35, 0) + number(43, ~uint64_t{0});
  return out + bytes(2, trainer) + bytes(3, bytes(1, "identity") + number(4, remove_extra));
}

class SentencePieceFile : public testing::Test {
 protected:
  SentencePieceFile() : folder_(fs::temp_directory_path() / ("cupel-" + test_name())) {
    fs::create_directories(folder_);
  }
  ~SentencePieceFile() override { fs::remove_all(folder_); }
  static std::string test_name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::shared_ptr<const Tokenizer> open() const {
    return Tokenizer::from_json(format::tokenizer_json_of(folder_.string()));
  }
  void write(const std::string& name, const std::string& text) const {
    write_atomic((folder_ / name).string(), text);
  }
  fs::path folder_;
};

TEST_F(SentencePieceFile, IsReadWithItsRoles) {
  write("tokenizer.model", model());
  const auto t = open();
  EXPECT_EQ(t->encode("ab"), (std::vector<Token>{6}));
  EXPECT_EQ(t->encode("ab", {.add_special = true}), (std::vector<Token>{1, 6}));
  EXPECT_EQ(t->encode("[X]ab"), (std::vector<Token>{3, 8, 7}));
  EXPECT_EQ(t->encode("</s>").size(), 2u);
  EXPECT_EQ(t->encode("</s>", {.special_text = true}), (std::vector<Token>{2}));
  EXPECT_EQ(t->decode(t->encode("ab b")), "ab b");
  EXPECT_EQ(t->bos(), 1);
  EXPECT_EQ(t->end_tokens(), (std::vector<Token>{2}));
  EXPECT_EQ(t->special_text("eos_token"), "</s>");
}

TEST_F(SentencePieceFile, TheFilesBesideItCount) {
  write("tokenizer.model", model());
  write("added_tokens.json", R"({"<new>":9})");
  write("tokenizer_config.json",
        R"({"add_bos_token":false,"chat_template":"T","added_tokens_decoder":
            {"1":{"content":"<s>","special":true},"10":{"content":"<end>","special":true}}})");
  const auto t = open();
  EXPECT_EQ(t->encode("ab", {.add_special = true}), (std::vector<Token>{6}));
  EXPECT_EQ(t->find("<new>"), 9);
  EXPECT_EQ(t->encode("<end>", {.special_text = true}), (std::vector<Token>{10}));
  EXPECT_EQ(t->chat_template(), "T");
  write("tokenizer_config.json", R"({"added_tokens_decoder":{"x":{"content":"y"}}})");
  EXPECT_NE(test::error_of([&] { open(); }).message().find("key 'x'"), std::string::npos);
}

TEST_F(SentencePieceFile, UnigramIsTheDefault) {
  write("tokenizer.model", model(1));
  EXPECT_EQ(open()->encode("ab"), (std::vector<Token>{6}));
  write("tokenizer.model", model(3));
  const Error e = test::error_of([&] { open(); });
  EXPECT_NE(std::string(e.what()).find("model type 3"), std::string::npos) << e.what();
}

TEST_F(SentencePieceFile, StandardPartsGiveTheSameIds) {
  for (const uint64_t kind : {1, 2})
    for (const bool user_defined : {false, true})
      for (const uint64_t remove_extra : {0, 1}) {
        write("tokenizer.model", model(kind, user_defined, remove_extra));
        const std::string json = format::tokenizer_json_of(folder_.string());
        const format::StandardTokenizer standard = format::standard_tokenizer(json);
        EXPECT_TRUE(standard.converted);
        EXPECT_EQ(standard.json.find("SentencePiece"), std::string::npos);
        EXPECT_EQ(standard.differences.size(), remove_extra + (kind == 1 ? 2 : user_defined));
        const auto a = Tokenizer::from_json(json), b = Tokenizer::from_json(standard.json);
        for (const char* text :
             {"", " ", "ab", "abab b", "  ab   ab  ", "xay\u2581<", "ab\u2581b"}) {
          EXPECT_EQ(a->encode(text), b->encode(text)) << kind << " '" << text << "'";
          const EncodeOptions special{.special_text = true, .add_special = true};
          const auto ids = a->encode(text, special);
          EXPECT_EQ(ids, b->encode(text, special)) << kind << " '" << text << "'";
          EXPECT_EQ(a->decode(ids), b->decode(ids));
        }
        if (user_defined && kind == 1) {
          EXPECT_EQ(a->encode("[X]ab"), b->encode("[X]ab"));
        }
        EXPECT_EQ(format::standard_tokenizer(standard.json).json, standard.json);
      }
}

TEST_F(SentencePieceFile, DamageIsRefused) {
  write("tokenizer.model", "IQ== 0\nIg== 1\n");
  const Error e = test::error_of([&] { open(); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_NE(e.message().find("not a SentencePiece model"), std::string::npos) << e.message();
  const std::string whole = model();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write("tokenizer.model", whole.substr(0, n));
    try {
      open();
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::data) << error.what();
    }
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ 0x5A);
    write("tokenizer.model", bent);
    try {
      open()->encode("abc \u00e9[X]");
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::data) << error.what();
    }
  }
}

}  // namespace
}  // namespace cupel::text
