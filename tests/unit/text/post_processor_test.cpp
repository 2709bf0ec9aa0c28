// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/post_processor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace cupel::text {
namespace {

Surround read(const std::string& json) {
  const auto j = nlohmann::json::parse(json);
  return read_post_processor(Part(&j, "post_processor"));
}

using Tokens = std::vector<Token>;

constexpr const char* kTemplate =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
    R"({"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]},)"
    R"("</s>":{"id":"</s>","ids":[2,3],"tokens":["</s>","x"]}}})";

TEST(PostProcessor, Templates) {
  const Surround s = read(kTemplate);
  EXPECT_EQ(s.before, Tokens{1});
  EXPECT_EQ(s.after, (Tokens{2, 3}));
}

TEST(PostProcessor, SequencesAndPairs) {
  const Surround s =
      read(R"({"type":"Sequence","processors":[{"type":"ByteLevel","trim_offsets":false},)" +
           std::string(kTemplate) + "]}");
  EXPECT_EQ(s.before, Tokens{1});
  const Surround roberta =
      read(R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0],"trim_offsets":true})");
  EXPECT_EQ(roberta.before, Tokens{0});
  EXPECT_EQ(roberta.after, Tokens{2});
}

TEST(PostProcessor, OwnKeysOverruleIt) {
  test::Parts parts;
  parts.post_processor = kTemplate;
  const EncodeOptions add{.add_special = true};
  EXPECT_EQ(test::tokenizer(parts)->encode("a", add).size(), 4u);
  parts.cupel = R"({"bos":5,"end_tokens":[7],"chat_template":"t","add_bos":true})";
  const auto t = test::tokenizer(parts);
  EXPECT_EQ(t->encode("a", add), (Tokens{5, 'a' - ' '}));
  EXPECT_EQ(t->encode("a").size(), 1u);
  EXPECT_EQ(t->bos(), 5);
  EXPECT_EQ(t->end_tokens(), Tokens{7});
  EXPECT_EQ(t->chat_template(), "t");
  parts.cupel = R"({"bos":5,"add_bos":false})";
  EXPECT_EQ(test::tokenizer(parts)->encode("a", add).size(), 1u);
}

TEST(PostProcessor, RefusesByName) {
  for (
      const char* bad :
      {R"({"type":"Other"})", R"({"type":"TemplateProcessing","single":[],"special_tokens":{}})",
       R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}],"special_tokens":{}})"})
    EXPECT_EQ(test::error_of([&] { read(bad); }).fault(), Fault::data) << bad;
}

}  // namespace
}  // namespace cupel::text
