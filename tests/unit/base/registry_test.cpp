// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/registry.h"

#include "support.h"

namespace cupel {
namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual int bits() const = 0;
};

struct Square : Shape {
  using Parameters = test::Uniform;
  explicit Square(const Parameters& p) : p_(p) {}
  int bits() const override { return p_.bits; }
  Parameters p_;
};

TEST(Registry, MakesByName) {
  Registry<Shape> registry;
  registry.add<Square>("square", "four sides");
  ASSERT_EQ(registry.entries().size(), 1u);
  const auto& entry = registry.at("square");
  const auto params = entry.params();
  dynamic_cast<test::Uniform&>(*params).bits = 3;
  EXPECT_EQ(entry.make(params)->bits(), 3);
}

TEST(Registry, UnknownName) {
  Registry<Shape> registry;
  registry.add<Square>("square", "four sides");
  const Error e = test::error_of([&] { registry.at("sqare"); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(), "unknown method 'sqare'; did you mean 'square'? (known: square)");
}

}  // namespace
}  // namespace cupel
