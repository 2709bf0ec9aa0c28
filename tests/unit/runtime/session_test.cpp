// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TinyModel tiny = make_tiny(11, true);
    model_ = Model::open(
        write_packed(tiny, {.layout = "uniform", .bits = 4, .group = 64}, "session.cupel"), {});
  }
  static void TearDownTestSuite() { model_.reset(); }

  template <class Body>
  static std::string message_of(Fault fault, Body&& body) {
    try {
      body();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), fault) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  static std::shared_ptr<const Model> model_;
};
std::shared_ptr<const Model> SessionTest::model_;

TEST_F(SessionTest, KeepsOnlyTheLastRows) {
  Session session(model_, {.threads = 2, .prompt_chunk = 8});
  const auto ids = random_ids(1, 21, session.vocab());
  const auto all = logits_of(session, ids);
  for (const int64_t keep : {0, 1, 5, 9, 21}) {
    session.rewind(0);
    const auto last = session.forward(ids, keep);
    EXPECT_EQ(std::vector<float>(last.begin(), last.end()),
              std::vector<float>(all.end() - keep * session.vocab(), all.end()));
    EXPECT_EQ(session.position(), 21);
  }
}

TEST_F(SessionTest, RewindGivesTheSameBits) {
  Session session(model_, {.threads = 2});
  const auto ids = random_ids(2, 40, session.vocab());
  const auto all = logits_of(session, ids);
  session.rewind(13);
  session.forward(random_ids(3, 20, session.vocab()), 1);
  session.rewind(13);
  const auto rest = session.forward(std::span(ids).subspan(13), 27);
  EXPECT_EQ(std::vector<float>(rest.begin(), rest.end()),
            std::vector<float>(all.begin() + 13 * session.vocab(), all.end()));
  message_of(Fault::user, [&] { session.rewind(41); });
  message_of(Fault::user, [&] { session.rewind(-1); });
}

TEST_F(SessionTest, KeepPrefix) {
  Session session(model_, {.threads = 1});
  session.forward(std::vector<text::Token>{1, 2, 3, 4, 5}, 0);
  EXPECT_EQ(session.keep_prefix(std::vector<text::Token>{1, 2, 3, 9}, 10), 3);
  EXPECT_EQ(session.position(), 3);
  EXPECT_EQ(session.keep_prefix(std::vector<text::Token>{1, 2, 3, 9}, 2), 2);
  EXPECT_EQ(session.keep_prefix(std::vector<text::Token>{7}, 1), 0);
}

TEST_F(SessionTest, ContextLimitsNameBothNumbers) {
  Session session(model_, {.threads = 1, .context = 10});
  EXPECT_EQ(session.max_length(), 10);
  session.forward(std::vector<text::Token>(8, 1), 0);
  const auto text =
      message_of(Fault::user, [&] { session.forward(std::vector<text::Token>(3, 1), 1); });
  EXPECT_NE(text.find("10 positions"), std::string::npos) << text;
  EXPECT_NE(text.find("3 more"), std::string::npos) << text;
  EXPECT_EQ(session.position(), 8);
  session.forward(std::vector<text::Token>(2, 1), 1);
  message_of(Fault::user, [&] { Session(model_, {.context = 601}); });
  message_of(Fault::user, [&] { Session(model_, {.context = -1}); });
}

TEST_F(SessionTest, TokensOutsideTheVocabularyAreRefused) {
  Session session(model_, {.threads = 1});
  message_of(Fault::data, [&] { session.forward(std::vector<text::Token>{1, 203}, 1); });
  message_of(Fault::data, [&] { session.forward(std::vector<text::Token>{-1}, 1); });
  EXPECT_EQ(session.position(), 0);
}

TEST_F(SessionTest, ScoreHandsOverTheSameLogits) {
  Session session(model_, {.threads = 2, .prompt_chunk = 16});
  const auto ids = random_ids(4, 50, session.vocab());
  const auto all = logits_of(session, ids);
  for (const int64_t from : {0, 17, 49, 50}) {
    std::vector<float> got;
    int64_t next = from;
    session.score(ids, from, [&](const text::LogitRows& rows) {
      EXPECT_EQ(rows.first, next);
      next += rows.rows;
      for (int64_t r = 0; r < rows.rows; ++r)
        got.insert(got.end(), rows.row(r).begin(), rows.row(r).end());
    });
    EXPECT_EQ(next, 50);
    EXPECT_EQ(got, std::vector<float>(all.begin() + from * session.vocab(), all.end()));
  }
  message_of(Fault::user,
             [&] { session.score(std::vector<text::Token>(601, 1), 0, [](const auto&) {}); });
}

/// Every row of every sequence, by score() alone and by score_many().
void expect_same_rows(Session& session, const std::vector<std::vector<text::Token>>& ids,
                      const std::vector<int64_t>& from) {
  std::vector<text::Scorer::Sequence> sequences;
  for (std::size_t i = 0; i < ids.size(); ++i) sequences.push_back({ids[i], from[i]});
  std::vector<std::vector<float>> together(ids.size());
  std::vector<int64_t> next = from;
  session.score_many(sequences, [&](std::size_t i, const text::LogitRows& rows) {
    ASSERT_EQ(rows.first, next[i]) << "sequence " << i;
    next[i] += rows.rows;
    together[i].insert(together[i].end(), rows.logits, rows.logits + rows.rows * rows.vocab);
  });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<float> alone;
    session.score(ids[i], from[i], [&](const text::LogitRows& rows) {
      alone.insert(alone.end(), rows.logits, rows.logits + rows.rows * rows.vocab);
    });
    EXPECT_EQ(together[i], alone) << "sequence " << i;
  }
}

TEST_F(SessionTest, ManySequencesGiveTheBitsOfEachAlone) {
  const auto base = random_ids(5, 60, model_->config().vocab);
  const auto begin = [&](int64_t n) {
    return std::vector<text::Token>(base.begin(), base.begin() + n);
  };
  std::vector<std::vector<text::Token>> ids;
  std::vector<int64_t> from;
  const auto add = [&](std::vector<text::Token> sequence, int64_t first) {
    ids.push_back(std::move(sequence));
    from.push_back(first);
  };
  // Branches of one beginning, branches of branches, equal ones, one that is the beginning of
  // another, rows wanted before the branch, none wanted, and ones longer than a step.
  for (int64_t branch = 0; branch < 6; ++branch) {
    auto a = begin(10 + 3 * branch);
    for (const text::Token id :
         random_ids(20 + static_cast<uint64_t>(branch), 4, model_->config().vocab))
      a.push_back(id);
    add(a, 10 + 3 * branch - 1);
    a.push_back(base[0]);
    add(a, 2);
  }
  add(begin(20), 0);
  add(begin(20), 19);
  add(begin(45), 44);
  add(begin(60), 30);
  add(begin(5), 5);
  add(random_ids(9, 50, model_->config().vocab), 49);
  for (const int threads : {1, 2})
    for (const int64_t chunk : {3, 16, 256}) {
      Session session(model_, {.threads = threads, .kv = KvType::f32, .prompt_chunk = chunk});
      expect_same_rows(session, ids, from);
    }
}

TEST_F(SessionTest, CacheMemoryFollowsTheLengthUsed) {
  Session session(model_, {.threads = 1, .kv = KvType::f16});
  EXPECT_EQ(session.kv_bytes(), 0);
  session.forward(std::vector<text::Token>(3, 1), 0);
  EXPECT_EQ(session.kv_bytes(), 2 * 2 * 4096);
  EXPECT_EQ(session.kv_bytes_read(), 2 * 2 * 3 * 2 * 16 * 2);
  session.forward(std::vector<text::Token>(80, 1), 0);
  EXPECT_EQ(session.kv_bytes(), 2 * 2 * 2 * 4096);
  session.rewind(0);
  EXPECT_EQ(session.kv_bytes(), 0);
}

TEST_F(SessionTest, TwoSessionsShareAModel) {
  Session a(model_, {.threads = 1}), b(model_, {.threads = 1});
  const auto ids = random_ids(5, 20, a.vocab());
  std::vector<float> from_a, from_b;
  std::thread other([&] { from_b = logits_of(b, ids); });
  from_a = logits_of(a, ids);
  other.join();
  EXPECT_EQ(from_a, from_b);
}

TEST_F(SessionTest, ADamagedLayerIsNamed) {
  TinyModel tiny = make_tiny(12, true);
  // Finite in the file, but its products overflow.
  for (float& v : tiny.at(format::Role::up, 1)) v = 3e38F;
  const auto model = Model::open(write_packed(tiny, {}, "overflow.cupel"), {});
  Session session(model, {.threads = 2, .prompt_chunk = 4});
  const auto text = message_of(Fault::data, [&] { session.forward(random_ids(6, 10, 203), 1); });
  EXPECT_NE(text.find("model.layers.1.mlp"), std::string::npos) << text;
  EXPECT_NE(text.find("position"), std::string::npos) << text;
  EXPECT_EQ(session.position(), 0);
}

TEST_F(SessionTest, ADamagedHeadIsNamedWithItsPosition) {
  TinyModel tiny = make_tiny(13, false);
  for (float& v : tiny.at(format::Role::head)) v = 3e38F;
  const auto model = Model::open(write_packed(tiny, {}, "head.cupel"), {});
  Session session(model, {.threads = 1});
  session.forward(random_ids(6, 10, 203), 0);
  const auto text = message_of(Fault::data, [&] { session.forward(random_ids(6, 1, 203), 1); });
  EXPECT_NE(text.find("logits at position 10"), std::string::npos) << text;
}

TEST_F(SessionTest, OversubscriptionWarns) {
  log::clear_warnings();
  Session session(model_, {.threads = 64});
  ASSERT_EQ(log::warnings().size(), 1u);
  log::clear_warnings();
}

TEST(ModelOpen, SaysWhatAPathLacks) {
  EXPECT_THROW(Model::open("/nowhere/at/all", {}), Error);
  EXPECT_THROW(Model::open("/nowhere/at/all.cupel", {}), Error);
  EXPECT_THROW(Model::open("/nowhere", {.device = kernels::Device::cuda}), Error);
}

TEST(ModelOpen, CountsBytes) {
  const TinyModel tiny = make_tiny(14, true);
  const auto model = Model::open(write_folder(tiny, "bytes"), {});
  int64_t elements = tiny.config.hidden;  // the row of the embedding
  for (const auto& [name, values] : tiny.weights) elements += static_cast<int64_t>(values.size());
  EXPECT_EQ(model->streamed_bytes(), 4 * elements);
  EXPECT_GT(model->file_bytes(), 4 * elements - 4 * tiny.config.hidden);
}

}  // namespace
}  // namespace cupel::runtime
