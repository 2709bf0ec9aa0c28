// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Every type of the KV cache: how near it is to exact keys and values, and what must not change a
// bit of it.
#include "runtime/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference_decoder.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

constexpr KvType kPacked[] = {KvType::int8, KvType::fp8, KvType::int4};

/// Of the logits of 60 positions, root mean square.
double relative_error(Session& session, const TinyModel& model) {
  const auto ids = random_ids(32, 60, model.config.vocab);
  const auto reference = reference_logits(model, ids);
  const auto logits = logits_of(session, ids);
  const auto vocab = static_cast<std::size_t>(model.config.vocab);
  double difference = 0, all = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double exact = reference[i / vocab][i % vocab], off = logits[i] - exact;
    difference += off * off;
    all += exact * exact;
  }
  return std::sqrt(difference / all);
}

class KvCacheTest : public ::testing::TestWithParam<KvType> {
 protected:
  SessionOptions options(int threads = 1, int64_t chunk = 256) const {
    return {.threads = threads, .context = 0, .kv = GetParam(), .prompt_chunk = chunk};
  }
  const TinyModel tiny_ = make_tiny(31, true);
  const std::string path_ =
      write_folder(tiny_, std::string("kv_") + std::string(kernels::kv_type_name(GetParam())));
  const std::vector<text::Token> ids_ = random_ids(31, 290, tiny_.config.vocab);
};

TEST_P(KvCacheTest, IsNearTheReference) {
  Session session(Model::open(path_, {}), options());
  const double error = relative_error(session, tiny_);
  // Coarser types are farther away, so one that is not in use would show.
  const bool int4 = GetParam() == KvType::int4, int8 = GetParam() == KvType::int8;
  EXPECT_GT(error, int4 ? 0.06 : int8 ? 0.003 : 0.02);
  EXPECT_LT(error, int4 ? 0.6 : int8 ? 0.04 : 0.2);
}

TEST_P(KvCacheTest, LevelsThreadsAndChunksChangeNothing) {
  std::vector<float> first;
  for (const kernels::Isa isa : levels()) {
    const auto model = Model::open(path_, {.isa = isa});
    for (const int threads : {1, 3})
      for (const int64_t chunk : {7, 256}) {
        Session session(model, options(threads, chunk));
        const auto logits = logits_of(session, ids_);
        if (first.empty()) first = logits;
        EXPECT_EQ(logits, first) << kernels::isa_name(isa) << ", " << threads
                                 << " threads, chunks of " << chunk;
      }
  }
}

TEST_P(KvCacheTest, RewindGivesTheSameBits) {
  Session session(Model::open(path_, {}), options());
  const auto all = logits_of(session, ids_);
  session.forward(random_ids(33, 20, tiny_.config.vocab), 0);
  EXPECT_EQ(session.keep_prefix(ids_, 200), 200);
  const auto rest = session.forward(std::span(ids_).subspan(200), 90);
  const std::vector<float> tail(all.end() - static_cast<std::ptrdiff_t>(rest.size()), all.end());
  EXPECT_EQ(std::vector<float>(rest.begin(), rest.end()), tail);
}

/// Beginnings are copied from cache to cache.
TEST_P(KvCacheTest, ManySequencesGiveTheBitsOfEachAlone) {
  std::vector<std::vector<text::Token>> ids;
  for (const std::size_t shared : {5U, 17U, 17U, 40U}) {
    ids.emplace_back(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(shared));
    for (const text::Token id : random_ids(40 + ids.size(), 6, tiny_.config.vocab))
      ids.back().push_back(id);
  }
  std::vector<text::Scorer::Sequence> sequences;
  for (const auto& sequence : ids)
    sequences.push_back({sequence, static_cast<int64_t>(sequence.size()) - 4});
  Session session(Model::open(path_, {}), options(2, 16));
  std::vector<std::vector<float>> together(ids.size());
  session.score_many(sequences, [&](std::size_t i, const text::LogitRows& rows) {
    together[i].insert(together[i].end(), rows.logits, rows.logits + rows.rows * rows.vocab);
  });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Session alone(Model::open(path_, {}), options());
    const auto logits = alone.forward(ids[i], 4);
    EXPECT_EQ(together[i], std::vector<float>(logits.begin(), logits.end())) << "sequence " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Packed, KvCacheTest, ::testing::ValuesIn(kPacked), [](const auto& type) {
  return std::string(kernels::kv_type_name(type.param));
});

/// One pair of dimensions of the keys is large where that of the queries is small: the scores are
/// those of a plain model, but the group would lose its other dimensions.
TEST_P(KvCacheTest, OutliersOfKeysDoNotCostTheOtherDimensions) {
  format::ModelConfig config = make_tiny(35, true).config;
  config.head_dim = 64;
  TinyModel model = make_tiny(35, config);
  const auto scale = [&](format::Role role, int64_t heads, float by) {
    for (int layer = 0; layer < config.layers; ++layer)
      for (int64_t h = 0; h < heads; ++h)
        for (const int64_t d : {3, 35}) {  // a pair of the rotary embedding
          float* row = model.at(role, layer).data() + (h * 64 + d) * config.hidden;
          for (int64_t i = 0; i < config.hidden; ++i) row[i] *= by;
        }
  };
  scale(format::Role::key, config.kv_heads, 30.0F);
  scale(format::Role::query, config.heads, 1 / 30.0F);
  Session session(Model::open(write_folder(model, "mixed_keys"), {}), options());
  const bool int4 = GetParam() == KvType::int4, int8 = GetParam() == KvType::int8;
  EXPECT_LT(relative_error(session, model), int4 ? 0.8 : int8 ? 0.1 : 0.2);
}

TEST(KvCacheBytes, FollowTheType) {
  format::ModelConfig config = make_tiny(34, true).config;
  config.head_dim = 64;
  const auto of_head = [&](KvType type) {
    const KvCache cache(config, type, 128);
    EXPECT_EQ(10 * cache.position_bytes(), cache.bytes_read(10));
    // 10 positions, keys and values.
    return cache.bytes_read(10) / (10 * 2 * config.layers * config.kv_heads);
  };
  EXPECT_EQ(of_head(KvType::f32), 256);
  EXPECT_EQ(of_head(KvType::f16), 128);
  EXPECT_EQ(of_head(KvType::int8), 68);
  EXPECT_EQ(of_head(KvType::fp8), 68);
  EXPECT_EQ(of_head(KvType::int4), 40);
}

}  // namespace
}  // namespace cupel::runtime
