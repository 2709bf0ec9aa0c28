// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/nested.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"

#include "tests/unit/export/tiny_model.h"

namespace cupel::format {
namespace {

TEST(NestedLayout, APrefixDecodesLikeItsOwnExport) {
  const auto whole = make_layout("nested", R"({"bits":6,"group":32})");
  const WeightCode code = test::random_code(whole, 19, 70, Rng(3));
  const Planes planes = whole->pack(code);
  for (int kept = 1; kept <= 6; ++kept) {
    const WeightCode prefix = nested_prefix(code, kept);
    const Planes exported = prefix.layout->pack(prefix);
    PlaneViews views;
    // The first planes of the whole store are those of the prefix, byte for byte: reading on never
    // reads again.
    for (const auto& [name, plane] : exported) {
      EXPECT_EQ(plane.bytes, planes.at(name).bytes) << kept << ' ' << name;
      views[name] = {plane.type, plane.shape, planes.at(name).bytes};
    }
    std::vector<float> decoded(19 * 70), read(19 * 70);
    prefix.layout->decode(prefix, decoded);
    prefix.layout->unpack(views, 19, 70, 0, 19, read);
    EXPECT_EQ(std::memcmp(decoded.data(), read.data(), decoded.size() * 4), 0) << kept;
  }
  EXPECT_THROW(nested_prefix(code, 7), Error);
}

}  // namespace
}  // namespace cupel::format
