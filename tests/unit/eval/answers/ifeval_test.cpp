// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/ifeval.h"

#include "eval/answers/json_check.h"
#include "eval/answers/language.h"
#include "eval/answers/punkt.h"
#include "eval/answers/word_tokens.h"
#include "tests/unit/eval/answers/support.h"

namespace cupel::eval {
namespace {

IfevalDocument two_instructions() {
  return read_ifeval_document(
      R"({"prompt": "p", "instruction_id_list": ["punctuation:no_comma", "startend:quotation"],
          "kwargs": [{}, {"language": null, "num_words": 0, "keywords": []}]})");
}

TEST(Ifeval, StrictAndLooseVerdicts) {
  const IfevalScorer scorer;
  const auto ours = scorer.score(two_instructions(), "Sure, here it is:\n\"No commas here.\"");
  EXPECT_EQ(ours.strict, (std::vector<bool>{false, false}));
  EXPECT_EQ(ours.loose, (std::vector<bool>{true, true}));
  EXPECT_EQ(ours.score().metrics,
            (std::vector<std::pair<std::string, double>>{{"prompt_level_strict_acc", 0},
                                                         {"inst_level_strict_acc", 0},
                                                         {"prompt_level_loose_acc", 1},
                                                         {"inst_level_loose_acc", 1}}));
  EXPECT_EQ(ours.score().note, "");
}

TEST(Ifeval, BlankReplyFollowsNothing) {
  for (const char* reply : {"", " \n", "***\n"}) {
    const auto ours = IfevalScorer().score(two_instructions(), reply);
    EXPECT_FALSE(ours.all_strict()) << reply;
    EXPECT_EQ(ours.strict[0], reply[0] == '*') << reply;
  }
}

TEST(Ifeval, Summary) {
  const IfevalScorer scorer;
  const std::vector<IfevalResult> results = {scorer.score(two_instructions(), "\"yes\""),
                                             scorer.score(two_instructions(), "no"),
                                             scorer.score(two_instructions(), "a,\n\"b\"")};
  const auto s = summarize_ifeval(results);
  EXPECT_DOUBLE_EQ(s.prompt_level_strict_acc, 1.0 / 3);
  EXPECT_DOUBLE_EQ(s.inst_level_strict_acc, 3.0 / 6);
  EXPECT_DOUBLE_EQ(s.prompt_level_loose_acc, 2.0 / 3);
  EXPECT_DOUBLE_EQ(s.inst_level_loose_acc, 5.0 / 6);
  EXPECT_EQ(test::error_from([] { summarize_ifeval({}); }).fault(), Fault::data);
}

TEST(Ifeval, NotesSayWhatDecided) {
  const IfevalDocument document{
      "p",
      {{"language:response_language", {{"language", "de"}}},
       {"keywords:letter_frequency",
        {{"letter", "#"}, {"let_frequency", 2.0}, {"let_relation", "at least"}}}}};
  const auto ours =
      IfevalScorer().score(document, "## Das ist ein Haus und der Hund ist nicht da.");
  EXPECT_TRUE(ours.all_strict());
  EXPECT_NE(ours.notes[0].find("not by langdetect"), std::string::npos);
  EXPECT_NE(ours.notes[1].find("at random"), std::string::npos);
  EXPECT_NE(ours.score().note.find("; "), std::string::npos);
}

std::string refusal(const std::string& id, const std::string& kwargs) {
  const Error e = test::error_from([&] {
    IfevalScorer().score(read_ifeval_document(R"({"prompt": "p", "instruction_id_list": [")" + id +
                                              R"("], "kwargs": [)" + kwargs + "]}"),
                         "reply");
  });
  EXPECT_EQ(e.fault(), id == "keywords:existence" ? Fault::user : Fault::data) << e.what();
  return e.what();
}

TEST(Ifeval, BadDocumentsAreRefused) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal("keywords:exist", "{}"), "unknown IFEval instruction 'keywords:exist'");
  has(refusal("startend:quotation", R"({"letter": "a"})"), "unknown argument 'letter'");
  has(refusal("length_constraints:number_words", R"({"relation": "at least"})"),
      "'num_words' is missing");
  has(refusal("length_constraints:number_words", R"({"relation": "at most", "num_words": 3})"),
      "'at most'");
  has(refusal("length_constraints:number_words", R"({"relation": "at least", "num_words": 2.5})"),
      "whole number");
  has(refusal("length_constraints:nth_paragraph_first_word",
              R"({"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"})"),
      "beyond");
  has(refusal("keywords:letter_frequency",
              R"({"letter": "ab", "let_frequency": 3, "let_relation": "at least"})"),
      "one character");
  has(refusal("keywords:existence", R"({"keywords": ["(a"]})"), "keywords:existence");
  for (const char* json : {"[]", "{", R"({"prompt": "p"})",
                           R"({"prompt": "p", "instruction_id_list": ["a"], "kwargs": []})",
                           R"({"prompt": 1, "instruction_id_list": [], "kwargs": []})"})
    EXPECT_EQ(test::error_from([&] { read_ifeval_document(json); }).fault(), Fault::data) << json;
}

TEST(Ifeval, EveryDocumentOfTheDataIsRead) {
  const std::string path = test::shared_file("data/eval/ifeval.jsonl");
  if (path.empty()) GTEST_SKIP() << "needs data/eval/ifeval.jsonl (set CUPEL_SHARED)";
  const IfevalScorer scorer;
  std::vector<IfevalResult> results;
  for (const auto& line : test::read_lines(path))
    results.push_back(scorer.score(read_ifeval_document(line.dump()), line["prompt"]));
  const auto s = summarize_ifeval(results);
  EXPECT_EQ(s.documents, 541u);
  EXPECT_EQ(s.instructions, 834u);
  EXPECT_GT(s.inst_level_loose_acc, s.prompt_level_loose_acc);
}

TEST(Sentences, AbbreviationsAndQuotes) {
  const SentenceSplitter splitter(small_english_model());
  EXPECT_EQ(splitter.split("Dr. Who left at 5 p.m. on Jan. 3. \"He ran.\" Why? (Yes.) Fine"),
            (std::vector<std::string_view>{"Dr. Who left at 5 p.m. on Jan. 3.", "\"He ran.\"",
                                           "Why?", "(Yes.)", "Fine"}));
  EXPECT_TRUE(splitter.split(" \n").empty());
  EXPECT_EQ(test::error_from([] { read_punkt_model("/nonexistent"); }).fault(), Fault::user);
}

TEST(Words, Treebank) {
  const SentenceSplitter splitter(small_english_model());
  EXPECT_EQ(treebank_words("I can't, \"really\". Gonna go--now!", splitter),
            (std::vector<std::string>{"I", "ca", "n't", ",", "``", "really", "''", ".", "Gon", "na",
                                      "go", "--", "now", "!"}));
  EXPECT_EQ(count_words("it's a_b 3.5 na\u00EFve"), 6u);
}

TEST(Language, ScriptsAndWords) {
  const auto detector = script_language_detector();
  EXPECT_EQ(detector->detect("123 !?"), "");
  EXPECT_EQ(detector->detect("The dog is in the house."), "en");
  EXPECT_EQ(detector->detect("Der Hund ist nicht im Haus."), "de");
  EXPECT_EQ(detector->detect("see https://example.com/the/and"), "en");
  EXPECT_EQ(test::error_from([] { profile_language_detector("/nonexistent"); }).fault(),
            Fault::user);
}

TEST(JsonCheck, WhatPythonTakes) {
  for (const char* good : {"{}", "NaN", "-Infinity", "\"\\ud800\"", " [1, 2.5e-3] ", "-0"})
    EXPECT_TRUE(python_loads(good)) << good;
  for (const char* bad : {"", "01", "1.", "+1", "{'a': 1}", "[1,]", "\"\t\"", "-NaN", "\"\\x\"",
                          "\xEF\xBB\xBF{}", "1 2", "\"a"})
    EXPECT_FALSE(python_loads(bad)) << bad;
  EXPECT_FALSE(python_loads(std::string(1 << 20, '[')));  // deep, and no stack overflow
}

}  // namespace
}  // namespace cupel::eval
