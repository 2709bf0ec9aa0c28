// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/eval/fakes.h"
#include "text/jinja_value.h"

namespace cupel::eval {
namespace {

using test::error_of;
using text::jinja::to_text;

TEST(Rows, JsonLinesKeepOrderAndTypes) {
  const auto rows =
      parse_documents("{\"b\":1,\"a\":{\"x\":[\"y\",2]}}\n\n{\"b\":\"z\"}", "d.jsonl");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].items[0].first.as_string(), "b");
  EXPECT_EQ(field(rows[0], "b")->as_integer(), 1);
  EXPECT_EQ(texts_of(*field(rows[0], "a.x")), (std::vector<std::string>{"y", "2"}));
  EXPECT_EQ(field(rows[0], "a.q"), nullptr);
  EXPECT_EQ(field(rows[1], "b.x"), nullptr);
}

TEST(Rows, CsvFollowsRfc4180) {
  const auto rows =
      parse_documents("\xEF\xBB\xBFq,a\r\n\"one, \"\"two\"\"\",3\r\n\"line\nbreak\",\r\n", "d.csv");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(to_text(*field(rows[0], "q")), "one, \"two\"");
  EXPECT_EQ(to_text(*field(rows[1], "q")), "line\nbreak");
  EXPECT_EQ(to_text(*field(rows[1], "a")), "");
}

TEST(Rows, WhatIsNoRowIsNamed) {
  const Error line = error_of([] { parse_documents("{\"a\":1}\n{\"a\":", "d.jsonl"); });
  EXPECT_EQ(line.fault(), Fault::data);
  EXPECT_NE(line.message().find("'d.jsonl' line 2"), std::string::npos) << line.message();
  EXPECT_EQ(error_of([] { parse_documents("[1]", "d.json"); }).fault(), Fault::data);
  EXPECT_EQ(error_of([] { parse_documents("a,b\n1\n", "d.csv"); }).fault(), Fault::data);
  EXPECT_EQ(error_of([] { parse_documents("a,b\n\"1", "d.csv"); }).fault(), Fault::data);
  EXPECT_EQ(error_of([] { parse_documents("", "d.parquet"); }).fault(), Fault::user);
  EXPECT_EQ(error_of([] { parse_documents("not gzip", "d.jsonl.gz"); }).fault(), Fault::data);
}

// `printf '{"a":1}\n' | gzip -n`
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x4a\x54\xb2\x32\xac\xe5\x02\x00\x46\xa3\xe8"
    "\x74\x08\x00\x00\x00",
    28);

TEST(Rows, GzipIsReadWholeOrRefused) {
  const auto rows = parse_documents(kGzip + kGzip, "d.jsonl.gz");  // two members
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(field(rows[1], "a")->as_integer(), 1);
  for (std::size_t n = 1; n < kGzip.size(); ++n)
    EXPECT_EQ(error_of([&] { parse_documents(kGzip.substr(0, n), "d.jsonl.gz"); }).fault(),
              Fault::data);
}

TEST(Rows, FilesAreFoundBelowTheFolder) {
  const auto folder = std::filesystem::temp_directory_path() / "cupel-find-data";
  std::filesystem::create_directories(folder / "eval");
  std::ofstream(folder / "eval" / "a.jsonl") << "{}\n";
  EXPECT_EQ(find_data(folder.string(), "eval/a.jsonl"), (folder / "eval/a.jsonl").string());
  EXPECT_EQ(find_data((folder / "eval").string(), "eval/a.jsonl"),
            (folder / "eval/a.jsonl").string());
  const Error e = error_of([&] { find_data(folder.string(), "b.jsonl"); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("eval/b.jsonl"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cupel::eval
