// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Models in several files.
#include <gtest/gtest.h>

#include <filesystem>

#include "files_util.h"
#include "format/gguf.h"

namespace cupel::format {
namespace {

using test::expect_error;
using test::GgufBuilder;

class GgufSplitTest : public ::testing::Test {
 protected:
  static std::string name(int part, int parts = 3) {
    return "m-0000" + std::to_string(part) + "-of-0000" + std::to_string(parts) + ".gguf";
  }
  /// Part `part` (from 1) of three with one tensor; the first has the metadata.
  static GgufBuilder part(uint32_t part, uint32_t count = 3) {
    GgufBuilder b;
    if (part == 1) b.text("general.architecture", "llama").u32("split.tensors.count", 3);
    b.value("split.no", 2, test::raw(static_cast<uint16_t>(part - 1)));
    b.value("split.count", 2, test::raw(static_cast<uint16_t>(count)));
    return b.tensor("t" + std::to_string(part), {1}, 0, test::raw_floats({float(part)}));
  }
  void write_all() {
    for (int i = 1; i <= 3; ++i) folder_.write(name(i), part(static_cast<uint32_t>(i)).bytes());
  }
  std::string file(int i) const { return folder_.file(name(i)); }
  test::TempFolder folder_;
};

TEST_F(GgufSplitTest, AnyPartOpensAll) {
  write_all();
  for (int i = 1; i <= 3; ++i) {
    const GgufFile f(file(i));
    EXPECT_EQ(f.text("general.architecture"), "llama");
    ASSERT_EQ(f.tensors().size(), 3u);
    for (int t = 1; t <= 3; ++t) {
      const TensorEntry* entry = f.find("t" + std::to_string(t));
      ASSERT_NE(entry, nullptr);
      float value = 0;
      to_float(entry->type, entry->bytes, {&value, 1});
      EXPECT_EQ(value, static_cast<float>(t));
    }
    int64_t bytes = 0;
    for (int t = 1; t <= 3; ++t) bytes += static_cast<int64_t>(std::filesystem::file_size(file(t)));
    EXPECT_EQ(f.file_bytes(), bytes);
  }
}

TEST_F(GgufSplitTest, AMissingPartIsNamed) {
  write_all();
  std::filesystem::remove(file(2));
  for (const int i : {1, 3}) expect_error(Fault::data, name(2), [&] { GgufFile f(file(i)); });
}

TEST_F(GgufSplitTest, PartsThatDoNotBelongTogether) {
  write_all();
  const auto renamed = folder_.write("other.gguf", part(1).bytes());
  expect_error(Fault::data, "-00001-of-00003.gguf", [&] { GgufFile f(renamed); });
  folder_.write(name(2), part(3).bytes());
  expect_error(Fault::data, "is not part 2 of 3", [&] { GgufFile f(file(1)); });
  folder_.write(name(2), part(2).tensor("t9", {1}, 0, "xxxx").bytes());
  expect_error(Fault::data, "split.tensors.count", [&] { GgufFile f(file(1)); });
  folder_.write(name(2), part(2, 4).bytes());
  expect_error(Fault::data, name(2), [&] { GgufFile f(file(3)); });
  auto outside = GgufBuilder().u32("split.no", 5).u32("split.count", 2);
  const auto path = folder_.write("outside.gguf", outside.bytes());
  expect_error(Fault::data, "split.no", [&] { GgufFile f(path); });
}

TEST_F(GgufSplitTest, OneOfOneIsAWholeModel) {
  const auto path = folder_.write("whole.gguf", part(1, 1).bytes());
  EXPECT_EQ(GgufFile(path).tensors().size(), 1u);
}

}  // namespace
}  // namespace cupel::format
