// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/h5.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/export/tiny_model.h"

namespace cupel::format {
namespace {

using test::TemporaryFolder;

std::vector<std::byte> counting(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = std::byte(i * 7 + i / 251);
  return bytes;
}

template <class Body>
Fault fault_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.fault();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Fault::internal;
}

TEST(H5, EveryTypeAndSizeComesBackFromItsOffset) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const ElementType types[] = {ElementType::f64,     ElementType::f32,     ElementType::f16,
                               ElementType::bf16,    ElementType::i64,     ElementType::i32,
                               ElementType::i16,     ElementType::i8,      ElementType::u64,
                               ElementType::u32,     ElementType::u16,     ElementType::u8,
                               ElementType::boolean, ElementType::f8_e4m3, ElementType::f8_e5m2};
  H5Writer writer(path, 4096, 4096);
  std::map<std::string, uint64_t> offsets;
  const auto name_of = [](ElementType t, int64_t n) {
    return cat("/of.", traits(t).name, "/n", n);
  };
  for (const ElementType type : types)
    for (const int64_t n : {0, 1, 3, 700, 5000}) {
      const auto bytes = counting(static_cast<std::size_t>(2 * n * traits(type).bytes));
      writer.dataset(name_of(type, n), type, {2, n}, bytes);
      offsets[name_of(type, n)] = writer.offset(name_of(type, n));
    }
  writer.dataset("/scalar", ElementType::f32, {}, counting(4));
  writer.close();

  const H5Reader reader(path);
  const std::string file = test::bytes_of_file(path);
  EXPECT_EQ(file.substr(0, 4096), std::string(4096, '\0'));
  for (const ElementType type : types)
    for (const int64_t n : {0, 1, 3, 700, 5000}) {
      const std::string name = name_of(type, n);
      const Array array = reader.read(name);
      EXPECT_EQ(array.type, type) << name;
      EXPECT_EQ(array.shape, (std::vector<int64_t>{2, n})) << name;
      EXPECT_EQ(array.bytes, counting(array.bytes.size())) << name;
      EXPECT_EQ(reader.offset(name), offsets[name]) << name;
      EXPECT_EQ(offsets[name] % 4096, 0u) << name;
      EXPECT_EQ(file.compare(offsets[name], array.bytes.size(),
                             reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()),
                0)
          << name;
    }
  EXPECT_TRUE(reader.read("/scalar").shape.empty());
  const auto names = reader.names();
  EXPECT_EQ(names.size(), 15u * 5 + 1);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_FALSE(reader.has("/of.f32"));
}

TEST(H5, BadFilesAndNamesAreRefused) {
  const TemporaryFolder folder;
  test::write_bytes(folder / "text", "not HDF5");
  EXPECT_EQ(fault_of([&] { H5Reader(folder / "text"); }), Fault::data);
  EXPECT_EQ(fault_of([&] { H5Writer(folder / "no/such/folder", 0, 1); }), Fault::environment);
  H5Writer writer(folder / "a.h5", 0, 1);
  writer.dataset("/x", ElementType::u8, {3}, counting(3));
  EXPECT_EQ(fault_of([&] { writer.dataset("/y", ElementType::u8, {3}, counting(4)); }),
            Fault::internal);
  EXPECT_EQ(fault_of([&] { writer.dataset("/x", ElementType::u8, {3}, counting(3)); }),
            Fault::environment);
  EXPECT_EQ(fault_of([&] { writer.offset("/z"); }), Fault::internal);
  writer.close();
  EXPECT_EQ(fault_of([&] { H5Reader(folder / "a.h5").read("/z"); }), Fault::data);
}

}  // namespace
}  // namespace cupel::format
