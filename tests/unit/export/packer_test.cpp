// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/packer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "format/layout.h"
#include "format/layouts/uniform.h"

namespace cupel::export_ {
namespace {

format::WeightCode code_of(int64_t rows, uint64_t seed) {
  const auto layout = std::make_shared<format::UniformLayout>(format::UniformParams());
  format::WeightCode code{.layout = layout, .rows = rows, .cols = 64, .input = {}, .arrays = {}};
  Rng rng(seed, "packer");
  code.arrays = layout->random_arrays(rows, 64, 0.02, rng);
  return code;
}

TEST(Packer, GivesWeightsBackInOrder) {
  Packer packer(3, 1 << 20);
  int given = 0, got = 0;
  const auto take = [&] {
    const PackedWeight w = packer.next();
    const auto expected = code_of(500 - 40 * got, static_cast<uint64_t>(got));
    EXPECT_EQ(w.name, cat("w", got));
    EXPECT_TRUE(w.code.arrays.empty());
    const auto planes = expected.layout->pack(expected);
    ASSERT_EQ(w.planes.size(), planes.size());
    for (const auto& [name, plane] : planes) EXPECT_EQ(w.planes.at(name).bytes, plane.bytes);
    ++got;
  };
  for (; given < 10; ++given) {
    while (!packer.has_room(1)) take();
    packer.add(cat("w", given), code_of(500 - 40 * given, static_cast<uint64_t>(given)));
  }
  while (!packer.empty()) take();
  EXPECT_EQ(got, 10);
}

TEST(Packer, HasRoomForOneLargeWeightOrAFewSmallOnes) {
  Packer packer(2, 64 * 100);
  EXPECT_TRUE(packer.has_room(64 * 1000));
  packer.add("large", code_of(200, 1));
  EXPECT_FALSE(packer.has_room(1));
  packer.next();
  packer.add("first", code_of(40, 2));
  EXPECT_TRUE(packer.has_room(64 * 60));
  EXPECT_FALSE(packer.has_room(64 * 61));
  packer.add("second", code_of(40, 3));
  EXPECT_FALSE(packer.has_room(1));
  packer.next();
  packer.next();
  EXPECT_TRUE(packer.empty());
}

TEST(Packer, AnErrorNamesItsWeight) {
  Packer packer(2, 1 << 20);
  format::WeightCode bad = code_of(4, 1);
  bad.arrays.at("codes").bytes[0] = std::byte{255};
  packer.add("good", code_of(4, 2));
  packer.add("bad", std::move(bad));
  EXPECT_EQ(packer.next().name, "good");
  try {
    packer.next();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("packing bad"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace cupel::export_
