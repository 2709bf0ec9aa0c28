// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include "files_util.h"
#include "format/container.h"

namespace cupel::format {
namespace {

using test::expect_error;
using test::safetensors_bytes;

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return cat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
             ",\"data_offsets\":", offsets, "}");
}

std::string header(const std::vector<std::string>& entries) {
  return cat("{", joined(entries), "}");
}

class SafetensorsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Container> open(const std::string& text, const std::string& data = {}) {
    return open_safetensors(folder_.write("m.safetensors", safetensors_bytes(text, data)));
  }
  void expect_bad(std::string_view part, const std::string& text, const std::string& data = {}) {
    expect_error(Fault::data, part, [&] { open(text, data); });
  }
  test::TempFolder folder_;
};

TEST_F(SafetensorsTest, ReadsTensorsInFileOrder) {
  const auto c = open(header({entry("b", "U8", "[1]", "[4,5]"), entry("a", "F32", "[1]", "[0,4]"),
                              "\"__metadata__\":{\"k\":\"v\"}"}),
                      test::raw(2.5f) + "x");
  ASSERT_EQ(c->tensors().size(), 2u);
  EXPECT_EQ(c->tensors()[0].name, "a");
  EXPECT_EQ(c->find("b")->bytes[0], std::byte{'x'});
  EXPECT_EQ(c->find("none"), nullptr);
  EXPECT_EQ(c->metadata_json(), "{\"k\":\"v\"}");
  float value;
  to_float(ElementType::f32, c->find("a")->bytes, std::span(&value, 1));
  EXPECT_EQ(value, 2.5f);
}

TEST_F(SafetensorsTest, RefusesBadRanges) {
  const std::string four(4, 'x');
  expect_bad("hole", header({entry("a", "U8", "[3]", "[1,4]")}), four);
  expect_bad("overlaps",
             header({entry("a", "U8", "[3]", "[0,3]"), entry("b", "U8", "[2]", "[2,4]")}), four);
  expect_bad("behind the end", header({entry("a", "U8", "[5]", "[0,5]")}), four);
  expect_bad("belong to none", header({entry("a", "U8", "[3]", "[0,3]")}), four);
  expect_bad("takes 8 bytes", header({entry("a", "F32", "[2]", "[0,4]")}), four);
  expect_bad("does not fit", header({entry("a", "F32", "[4294967296,4294967296]", "[0,0]")}));
}

TEST_F(SafetensorsTest, RefusesBadHeaders) {
  expect_bad("repeats the key 'a'",
             header({entry("a", "U8", "[0]", "[0,0]"), entry("a", "I8", "[0]", "[0,0]")}));
  expect_bad("unknown dtype", header({entry("a", "f32", "[0]", "[0,0]")}));
  expect_bad("non-negative integer", header({entry("a", "U8", "[0.0]", "[0,0]")}));
  expect_bad("non-negative integer", header({entry("a", "U8", "[-1]", "[0,0]")}));
  expect_bad("not a pair", header({entry("a", "U8", "[0]", "[0,0,0]")}));
  expect_bad("NUL", std::string("{}\0", 3));
  expect_bad("byte order mark", "\xef\xbb\xbf{}");
  expect_bad("deep", cat("{\"a\":", std::string(100000, '['), std::string(100000, ']'), "}"));
  expect_bad("not valid JSON", "{\"\xff\":1}");
  expect_bad("is not a string", "{\"__metadata__\":{\"k\":1}}");
}

TEST_F(SafetensorsTest, RefusesBadSizesOfTheHeader) {
  for (const uint64_t size : {uint64_t{3}, uint64_t{1} << 63, ~uint64_t{0} - 7}) {
    const auto path = folder_.write("m.safetensors", test::raw(size) + "{}");
    expect_error(Fault::data, "header claims", [&] { open_safetensors(path); });
  }
  const auto tiny = folder_.write("m.safetensors", "1234567");
  expect_error(Fault::data, "7 bytes", [&] { open_safetensors(tiny); });
}

TEST_F(SafetensorsTest, ReadsShards) {
  folder_.write(
      "model-1.safetensors",
      safetensors_bytes(
          header({entry("a", "U8", "[1]", "[0,1]"), entry("extra", "U8", "[1]", "[1,2]")}), "xz"));
  folder_.write("model-2.safetensors",
                safetensors_bytes(header({entry("b", "U8", "[1]", "[0,1]")}), "y"));
  const std::string index = "model.safetensors.index.json";
  folder_.write(index, R"({"metadata":{"total_size":7},"weight_map":{"a":"model-1.safetensors",
                           "b":"model-2.safetensors"}})");
  const auto c = open_safetensors(folder_.path());
  ASSERT_EQ(c->tensors().size(), 2u);
  EXPECT_EQ(c->find("b")->bytes[0], std::byte{'y'});
  EXPECT_EQ(c->notes().size(), 2u);  // the extra tensor, the wrong total

  folder_.write(index, R"({"weight_map":{"c":"model-1.safetensors"}})");
  expect_error(Fault::data, "'c'", [&] { open_safetensors(folder_.path()); });
  folder_.write(index, R"({"weight_map":{"a":"model-3.safetensors"}})");
  expect_error(Fault::data, "model-3", [&] { open_safetensors(folder_.path()); });
  for (const char* bad : {"../x.safetensors", "/etc/passwd", "sub/x", "C:x", "..", ""}) {
    folder_.write(index, cat(R"({"weight_map":{"a":")", bad, "\"}}"));
    expect_error(Fault::data, "plain name", [&] { open_safetensors(folder_.path()); });
  }
}

TEST_F(SafetensorsTest, EveryCutOfAFileIsRefused) {
  const std::string whole = safetensors_bytes(
      header({entry("a", "F32", "[2]", "[0,8]"), entry("b", "U8", "[3]", "[8,11]")}),
      std::string(11, 'x'));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = folder_.write("m.safetensors", whole.substr(0, size));
    expect_error(Fault::data, "", [&] { open_safetensors(path); });
  }
}

TEST_F(SafetensorsTest, NothingThere) {
  expect_error(Fault::user, "no .safetensors", [&] { open_container(folder_.path()); });
  expect_error(Fault::user, "no file", [&] { open_container(folder_.file("none")); });
}

TEST(SafetensorsFixture, Cases) {
  const std::string path = test::shared_path("fixtures/formats/safetensors_cases.jsonl");
  if (path.empty()) GTEST_SKIP() << "fixtures/formats/safetensors_cases.jsonl is missing";
  test::check_cases(path, ".safetensors", [](const std::string& p) { open_container(p); });
}

}  // namespace
}  // namespace cupel::format
