// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/artifact_writer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/threads.h"
#include "format/artifact.h"
#include "format/h5.h"
#include "tests/unit/export/tiny_model.h"

namespace cupel::export_ {
namespace {

using format::Artifact;
using test::TemporaryFolder;
using test::tiny_content;

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

/// Uniform codes whose packing loses a bit.
class LossyLayout : public format::Layout {
 public:
  explicit LossyLayout(std::shared_ptr<const Layout> inner) : inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  const Params& params() const override { return inner_->params(); }
  std::string description() const override { return "lossy"; }
  void decode(const format::WeightCode& code, std::span<float> out) const override {
    inner_->decode(code, out);
  }
  format::Planes pack(const format::WeightCode& code) const override {
    auto planes = inner_->pack(code);
    planes.at("codes").bytes[40] ^= std::byte{1};
    return planes;
  }
  void unpack(const format::PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
              int64_t count, std::span<float> out) const override {
    inner_->unpack(planes, rows, cols, row, count, out);
  }
  std::map<std::string, format::Array> unpack_arrays(const format::PlaneViews& planes, int64_t rows,
                                                     int64_t cols) const override {
    return inner_->unpack_arrays(planes, rows, cols);
  }
  std::vector<PlaneSpec> plane_specs(int64_t rows, int64_t cols) const override {
    return inner_->plane_specs(rows, cols);
  }
  std::map<std::string, format::Array> random_arrays(int64_t rows, int64_t cols, double deviation,
                                                     Rng& rng) const override {
    return inner_->random_arrays(rows, cols, deviation, rng);
  }

 private:
  std::shared_ptr<const Layout> inner_;
};

TEST(ArtifactWriter, WhatIsReadIsWhatWasWritten) {
  const TemporaryFolder folder;
  auto content = tiny_content();
  // Hadamard matrices of orders that are no power of two, one as wide as its input.
  for (auto& [name, code] : content.weights)
    if (name.find("down_proj") != std::string::npos)
      code.input = {.id = name, .hadamard = name.find(".1.") != std::string::npos ? 100 : 20};
  write_artifact(folder / "a.cupel", content);
  const auto artifact = Artifact::open(folder / "a.cupel");
  EXPECT_EQ(artifact->config_json(), content.config_json);
  EXPECT_EQ(artifact->tokenizer_json(), content.tokenizer_json);
  EXPECT_EQ(artifact->manifest_json(), content.manifest_json);
  ASSERT_EQ(artifact->tensors().size(), content.weights.size());
  for (std::size_t i = 0; i < content.weights.size(); ++i) {
    const auto& [name, code] = content.weights[i];
    const auto& tensor = artifact->tensors()[i];
    EXPECT_EQ(tensor.name, name);
    EXPECT_EQ(artifact->find(tensor.id), &tensor);
    EXPECT_EQ(tensor.bytes * 8, code.layout->bits(code.rows, code.cols));
    EXPECT_EQ(tensor.input.id, code.input.id);
    EXPECT_EQ(tensor.input.hadamard, code.input.hadamard);
    EXPECT_EQ(tensor.input.signs, code.input.signs);
    EXPECT_EQ(tensor.input.scale, code.input.scale);
    std::vector<float> expected(static_cast<std::size_t>(code.rows * code.cols)), got(expected);
    code.layout->decode(code, expected);
    tensor.layout->unpack(tensor.planes, tensor.rows, tensor.cols, 0, tensor.rows, got);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << name;
  }
  EXPECT_EQ(artifact->find({format::Role::head, -1}), nullptr);
  verify_artifact(folder / "a.cupel");
}

TEST(ArtifactWriter, EqualContentGivesEqualBytes) {
  const TemporaryFolder folder;
  write_artifact(folder / "a.cupel", tiny_content());
  write_artifact(folder / "b.cupel", tiny_content());
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  write_artifact(folder / "c.cupel", tiny_content());
  write_artifact(folder / "other.cupel", tiny_content(2));
  const std::string bytes = test::bytes_of_file(folder / "a.cupel");
  EXPECT_EQ(bytes, test::bytes_of_file(folder / "b.cupel"));
  EXPECT_EQ(bytes, test::bytes_of_file(folder / "c.cupel"));
  EXPECT_NE(bytes, test::bytes_of_file(folder / "other.cupel"));
}

TEST(ArtifactWriter, HoldsAFewCodesAtATime) {
  // A layout lives as long as the code that it came with.
  struct Counted {
    explicit Counted(std::atomic<int>& counter) : alive(counter) { ++alive; }
    ~Counted() { --alive; }
    std::atomic<int>& alive;
    std::shared_ptr<const format::Layout> layout;
  };
  std::atomic<int> alive = 0;
  int most = 0;
  ArtifactContent content = tiny_content();
  for (NamedCode& weight : content.weights)
    weight.code = [&, plain = weight.code] {
      auto code = plain();
      const auto counted = std::make_shared<Counted>(alive);
      counted->layout = code.layout;
      code.layout = {counted, counted->layout.get()};
      most = std::max(most, alive.load());
      return code;
    };
  const TemporaryFolder folder;
  write_artifact(folder / "a.cupel", content);
  EXPECT_LE(most, usable_processors() + 1);  // those in work, and the next
  EXPECT_EQ(alive, 0);
}

TEST(ArtifactWriter, PlanesLieOnPages) {
  const TemporaryFolder folder;
  write_artifact(folder / "a.cupel", tiny_content());
  const auto artifact = Artifact::open(folder / "a.cupel");
  for (const auto& d : artifact->datasets()) EXPECT_EQ(d.offset % 4096, 0u) << d.name;
}

TEST(ArtifactWriter, TokenizerAndManifestMayBeAbsent) {
  const TemporaryFolder folder;
  auto content = tiny_content();
  content.tokenizer_json.clear();
  content.manifest_json.clear();
  write_artifact(folder / "a.cupel", content);
  EXPECT_EQ(Artifact::open(folder / "a.cupel")->tokenizer_json(), "");
  verify_artifact(folder / "a.cupel");
}

TEST(ArtifactWriter, ADifferenceAfterPackingIsAnInternalError) {
  const TemporaryFolder folder;
  auto content = tiny_content();
  auto& code = content.weights[0].code;
  code.layout = std::make_shared<LossyLayout>(code.layout);
  EXPECT_EQ(fault_of([&] { write_artifact(folder / "a.cupel", content); }), Fault::internal);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.cupel"));
}

TEST(ArtifactWriter, RefusesIncompleteModelsAndClashingTransforms) {
  const TemporaryFolder folder;
  auto content = tiny_content();
  content.weights.pop_back();
  EXPECT_EQ(fault_of([&] { write_artifact(folder / "a.cupel", content); }), Fault::data);
  content = tiny_content();
  for (auto& weight : content.weights)
    if (!weight.code.input.identity()) {
      weight.code.input.signs[3] = static_cast<int8_t>(-weight.code.input.signs[3]);
      break;
    }
  EXPECT_EQ(fault_of([&] { write_artifact(folder / "a.cupel", content); }), Fault::internal);
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(folder / "a.cupel").parent_path()));
}

TEST(VerifyArtifact, FindsDamagedBytes) {
  const TemporaryFolder folder;
  write_artifact(folder / "a.cupel", tiny_content());
  const auto where = Artifact::open(folder / "a.cupel")->datasets().back();
  std::string bytes = test::bytes_of_file(folder / "a.cupel");
  bytes[where.offset] = static_cast<char>(bytes[where.offset] ^ 1);
  test::write_bytes(folder / "b.cupel", bytes);
  Artifact::open(folder / "b.cupel");
  EXPECT_EQ(fault_of([&] { verify_artifact(folder / "b.cupel"); }), Fault::data);
}

}  // namespace
}  // namespace cupel::export_
