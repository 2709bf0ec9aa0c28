// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/hf_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "format/checkpoint.h"
#include "text/tokenizer.h"

namespace cupel::export_ {
namespace {

namespace fs = std::filesystem;

class HfTokenizerTest : public testing::Test {
 protected:
  HfTokenizerTest() : folder_(fs::temp_directory_path() / "cupel-hf-tokenizer-test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "from");
    fs::create_directories(folder_ / "to");
    log::clear_warnings();
  }
  ~HfTokenizerTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

/// A tokenizer in SentencePiece's parts; `user_defined` is a list of ids.
std::string sentencepiece(const std::string& type, const std::string& user_defined) {
  return R"({"version":"1.0","added_tokens":[{"id":1,"content":"<s>","special":true}],
    "normalizer":{"type":"SentencePiece","charsmap":"","add_dummy_prefix":true,
      "remove_extra_whitespaces":false,"escape_whitespaces":true,"whitespace_as_suffix":false,
      "user_defined":[]},
    "pre_tokenizer":null,"post_processor":null,"decoder":null,
    "model":{"type":")" +
         type + R"(","unk_id":0,"byte_fallback":false,"user_defined":)" + user_defined +
         R"(,"unused":[],"reserved":[0,1],
      "vocab":[["<unk>",0],["<s>",0],["\u2581",-5],["a",-6],["b",-7],["ab",-1],["\u2581ab",-2]]},
    "cupel":{"bos":1,"end_tokens":[],"chat_template":"","add_bos":true,
      "special_tokens":{"bos_token":"<s>"}}})";
}

TEST_F(HfTokenizerTest, WritesPartsThatOthersKnow) {
  const std::string ours = sentencepiece("SentencePieceBPE", "[]");
  write_hf_tokenizer(path("to"), ours);
  const std::string written = read_text(path("to/tokenizer.json"));
  EXPECT_EQ(written.find("SentencePiece"), std::string::npos);
  EXPECT_EQ(written.find("\"cupel\""), std::string::npos);
  EXPECT_TRUE(log::warnings().empty());
  const auto a = text::Tokenizer::from_json(ours);
  const auto b = text::Tokenizer::from_json(format::tokenizer_json_of(path("to")));
  for (const char* text : {"ab", " ab a", "aab\nb", "x"})
    EXPECT_EQ(a->encode(text), b->encode(text));
  EXPECT_EQ(b->bos(), 1);
}

TEST_F(HfTokenizerTest, SaysWhereTheyAreNotExact) {
  write_hf_tokenizer(path("to"), sentencepiece("SentencePieceBPE", "[5]"));
  ASSERT_EQ(log::warnings().size(), 1u);
  EXPECT_NE(log::warnings()[0].find("beside user-defined pieces): "), std::string::npos)
      << log::warnings()[0];
  EXPECT_EQ(log::warnings()[0].find(" 0 of "), std::string::npos) << log::warnings()[0];
  write_hf_tokenizer(path("to"), sentencepiece("SentencePieceUnigram", "[]"));
  EXPECT_EQ(log::warnings().size(), 2u);
}

TEST_F(HfTokenizerTest, CopiesTheModel) {
  copy_tokenizer_model(path("from"), path("to"));
  EXPECT_FALSE(fs::exists(path("to/tokenizer.model")));
  write_atomic(path("from/tokenizer.model"), std::string("a\0b", 3));
  copy_tokenizer_model(path("from"), path("to"));
  EXPECT_EQ(read_text(path("to/tokenizer.model")), std::string("a\0b", 3));
}

}  // namespace
}  // namespace cupel::export_
