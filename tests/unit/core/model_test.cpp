// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/model.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "core/tensor_util.h"
#include "tiny_model.h"

namespace cupel::core {
namespace {

using format::Role;

// The models are so small that a second thread costs more than it brings.
class OneThread : public ::testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};
[[maybe_unused]] const auto* const kOneThread = ::testing::AddGlobalTestEnvironment(new OneThread);

// The decoder again in float64, written from its definition: the oracle of Model::forward.
struct PlainDecoder {
  using Matrix = std::vector<std::vector<double>>;
  Model& model;
  const format::ModelConfig& c = model.config();

  static Matrix product(const Matrix& x, const at::Tensor& w) {  // x W^T
    const std::span<const float> v = floats(w);
    const auto o = static_cast<std::size_t>(w.size(0)), i = static_cast<std::size_t>(w.size(1));
    Matrix y(x.size(), std::vector<double>(o));
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t a = 0; a < o; ++a)
        for (std::size_t b = 0; b < i; ++b) y[t][a] += x[t][b] * v[a * i + b];
    return y;
  }

  Matrix norm(const Matrix& x, const at::Tensor& w) const {
    Matrix y = x;
    for (auto& row : y) {
      const double square = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
      const double scale = 1 / std::sqrt(square / static_cast<double>(row.size()) + c.norm_eps);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] *= scale * floats(w)[i];
    }
    return y;
  }

  void rope(Matrix& x) const {
    const auto d = static_cast<std::size_t>(c.head_dim);
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t h = 0; h < x[t].size(); h += d)
        for (std::size_t j = 0; j < d / 2; ++j) {
          const double angle =
              static_cast<double>(t) *
              std::pow(c.rope.theta, -2.0 * static_cast<double>(j) / static_cast<double>(d));
          const double a = x[t][h + j], b = x[t][h + j + d / 2];
          x[t][h + j] = a * std::cos(angle) - b * std::sin(angle);
          x[t][h + j + d / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
  }

  Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v) const {
    const auto d = static_cast<std::size_t>(c.head_dim), heads = static_cast<std::size_t>(c.heads);
    Matrix y(q.size(), std::vector<double>(heads * d));
    for (std::size_t t = 0; t < q.size(); ++t)
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t kv = h / (heads / static_cast<std::size_t>(c.kv_heads));
        std::vector<double> p(t + 1);
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t j = 0; j < d; ++j) p[s] += q[t][h * d + j] * k[s][kv * d + j];
          sum += p[s] = std::exp(p[s] / std::sqrt(static_cast<double>(d)));
        }
        for (std::size_t s = 0; s <= t; ++s)
          for (std::size_t j = 0; j < d; ++j) y[t][h * d + j] += p[s] / sum * v[s][kv * d + j];
      }
    return y;
  }

  static void add(Matrix& x, const Matrix& y) {
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
  }

  Matrix run(const at::Tensor& ids_t) const {
    Matrix x;
    for (int64_t t = 0; t < ids_t.size(0); ++t) {
      const at::Tensor row = model.embedding()[ids_t[t].item<int64_t>()].contiguous();
      x.emplace_back(floats(row).begin(), floats(row).end());
    }
    for (int l = 0; l < model.layers(); ++l) {
      const LayerWeights& w = model.layer(l);
      const Matrix a = norm(x, w.of(Role::attention_norm));
      Matrix q = product(a, w.of(Role::query)), k = product(a, w.of(Role::key));
      rope(q);
      rope(k);
      add(x, product(attend(q, k, product(a, w.of(Role::value))), w.of(Role::output)));
      const Matrix m = norm(x, w.of(Role::mlp_norm));
      Matrix g = product(m, w.of(Role::gate));
      const Matrix u = product(m, w.of(Role::up));
      for (std::size_t t = 0; t < g.size(); ++t)
        for (std::size_t i = 0; i < g[t].size(); ++i) g[t][i] *= u[t][i] / (1 + std::exp(-g[t][i]));
      add(x, product(g, w.of(Role::down)));
    }
    return product(norm(x, model.final_norm()), model.head());
  }
};

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class ModelTest : public ::testing::Test {
 protected:
  const c10::NoGradGuard no_grad;
};

TEST_F(ModelTest, ForwardIsTheDefinition) {
  for (const bool tied : {true, false}) {
    format::ModelConfig config = tiny_config();
    config.tied_head = tied;
    Model model = lively_model(config, 3);
    const at::Tensor ids_nt = random_ids(2, 13, config.vocab, 5);
    const at::Tensor logits = model.forward(ids_nt);
    ASSERT_EQ(logits.sizes(), at::IntArrayRef({2, 13, 37}));
    for (int64_t n = 0; n < 2; ++n) {
      const auto expected = PlainDecoder{model}.run(ids_nt[n]);
      for (int64_t t = 0; t < 13; ++t)
        for (int64_t v = 0; v < 37; ++v)
          ASSERT_NEAR(logits[n][t][v].item<double>(),
                      expected[static_cast<std::size_t>(t)][static_cast<std::size_t>(v)], 1e-4);
    }
  }
}

TEST_F(ModelTest, CacheGivesTheSameLogits) {
  Model model = lively_model(tiny_config(), 4);
  const at::Tensor ids_nt = random_ids(2, 20, 37, 6);
  const at::Tensor whole = model.forward(ids_nt);
  KvCache cache;
  std::vector<at::Tensor> pieces;
  int64_t at = 0;
  for (const int64_t t :
       {5, 1, 1, 7, 6}) {  // start, single tokens, several tokens behind a filled cache
    pieces.push_back(model.forward(ids_nt.slice(1, at, at + t), &cache));
    at += t;
    EXPECT_EQ(cache.length, at);
    EXPECT_EQ(cache.keys[1].sizes(), at::IntArrayRef({2, 2, at, 6}));
  }
  EXPECT_LT(largest_difference(at::cat(pieces, 1), whole), 1e-4);
}

TEST_F(ModelTest, TapsSeeTheInputOfEachGroup) {
  Model model = lively_model(tiny_config(), 7);
  const at::Tensor x = model.embed(random_ids(2, 9, 37, 1));
  std::vector<Role> roles;
  at::Tensor inner;
  const at::Tensor y = model.block(0, x, [&](const format::WeightId& first, const at::Tensor& t) {
    const Role role = first.role;
    roles.push_back(role);
    EXPECT_EQ(t.size(-1), model.layer(0).of(role).size(1));
    if (role == Role::down) inner = t;
    return true;
  });
  const std::vector groups{Role::query, Role::output, Role::gate, Role::down};
  EXPECT_EQ(roles, groups);
  for (const Role last : groups) {
    roles.clear();
    const at::Tensor nothing =
        model.block(0, x, [&](const format::WeightId& first, const at::Tensor&) {
          const Role role = first.role;
          roles.push_back(role);
          return role != last;
        });
    EXPECT_FALSE(nothing.defined());
    EXPECT_EQ(roles.back(), last);
  }
  model.layer(0).of(Role::down).zero_();
  const at::Tensor without = model.block(0, x);
  Model again = lively_model(tiny_config(), 7);
  EXPECT_LT(largest_difference(without + at::linear(inner, again.layer(0).of(Role::down)), y),
            1e-5);
}

TEST_F(ModelTest, HalfTypesStayClose) {
  Model model = lively_model(tiny_config(), 8);
  ModelOptions half;
  half.weights = half.compute = at::kBFloat16;
  Model small = Model::random(tiny_config(), half, 8);
  for (const auto& [name, w] : small.named_weights())
    w.copy_(model.weight(*format::id_of_canonical(model.config().architecture(), name)));
  const at::Tensor ids_nt = random_ids(1, 12, 37, 2);
  EXPECT_EQ(small.forward(ids_nt).scalar_type(), at::kBFloat16);
  EXPECT_LT(largest_difference(small.forward(ids_nt).to(at::kFloat), model.forward(ids_nt)), 1.0);
}

TEST_F(ModelTest, RandomIsReproducible) {
  const format::ModelConfig config = tiny_config();
  Model a = Model::random(config, {}, 11), b = Model::random(config, {}, 11),
        other = Model::random(config, {}, 12);
  for (const auto& [name, w] : a.named_weights()) {
    const format::WeightId id = *format::id_of_canonical(config.architecture(), name);
    EXPECT_TRUE(at::equal(w, b.weight(id))) << name;
    if (w.dim() == 2) {
      EXPECT_FALSE(at::equal(w, other.weight(id))) << name;
      const bool narrow = id.role == Role::output || id.role == Role::down;
      EXPECT_NEAR(w.std().item<double>(), narrow ? 0.02 / std::sqrt(6.0) : 0.02, 0.003) << name;
    }
  }
  EXPECT_EQ(a.named_weights().size(), 2 + 3 * 9u);
  EXPECT_EQ(a.named_weights()[1].first, "model.layers.0.input_layernorm.weight");
}

TEST_F(ModelTest, CopiesShareAndClonesDoNot) {
  Model model = lively_model(tiny_config(), 9);
  Model copy = model;
  Model clone = model.clone();
  model.layer(1).of(Role::up).zero_();
  EXPECT_EQ(copy.layer(1).of(Role::up).abs().max().item<float>(), 0);
  EXPECT_GT(clone.layer(1).of(Role::up).abs().max().item<float>(), 0);
  model.set_weight({Role::gate, 1}, model.layer(0).of(Role::gate));
  EXPECT_FALSE(at::equal(copy.layer(1).of(Role::gate), model.layer(1).of(Role::gate)));
  EXPECT_THROW(model.set_weight({Role::gate, 1}, model.layer(0).of(Role::down)), Error);
}

TEST_F(ModelTest, LoadsLayersWhenTheyAreUsed) {
  Model origin = lively_model(tiny_config(), 10);
  const auto source = std::make_shared<MemoryCheckpoint>(origin);
  Model model(source, {});
  EXPECT_TRUE(source->reads.empty());
  at::Tensor x = model.embed(random_ids(1, 4, 37, 3));
  x = model.block(0, x);
  EXPECT_EQ(source->reads.size(), 1 + 9u);
  model.evict(0);
  model.block(0, x);
  EXPECT_EQ(source->reads.size(), 1 + 18u);

  model.set_weight({Role::up, 0}, model.layer(0).of(Role::up) * 2);
  model.evict(0);
  EXPECT_TRUE(at::equal(model.layer(0).of(Role::up), origin.layer(0).of(Role::up) * 2))
      << "a changed weight stays";
  EXPECT_EQ(source->reads.size(), 1 + 18 + 8u) << "the others are read again";
}

TEST_F(ModelTest, LetsReplacedWeightsGoThatCanBeHadAgain) {
  Model origin = lively_model(tiny_config(), 10);
  const auto source = std::make_shared<MemoryCheckpoint>(origin);
  Model model(source, {});
  const at::Tensor value = origin.layer(1).of(Role::up) * 2;
  int asked = 0;
  const WeightSource again = [&] {
    ++asked;
    return value.clone();
  };
  model.set_weight({Role::up, 1}, value.clone(), again);
  EXPECT_EQ(model.resident_bytes(), static_cast<int64_t>(value.nbytes()));
  EXPECT_TRUE(at::equal(model.peek({Role::up, 1}), value));
  EXPECT_EQ(asked, 0) << "it is in memory";
  model.evict(1);
  EXPECT_EQ(model.resident_bytes(), 0);
  EXPECT_TRUE(at::equal(model.peek({Role::up, 1}), value));
  EXPECT_TRUE(at::equal(model.peek({Role::down, 1}), origin.layer(1).of(Role::down)));
  EXPECT_EQ(model.resident_bytes(), 0) << "a look keeps nothing";
  EXPECT_EQ(source->reads, std::vector<std::string>{"model.layers.1.mlp.down_proj.weight"});

  // Layers keep what replaced them when others go; so do copies.
  model.remove_layers({0});
  Model copy = model;
  EXPECT_TRUE(at::equal(copy.weight({Role::up, 0}), value));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(at::equal(copy.weight({Role::up, 1}), origin.layer(2).of(Role::up)));

  model.set_weight({Role::embedding}, origin.embedding() * 3);
  model.final_norm();
  model.evict(-1);
  EXPECT_EQ(model.resident_bytes(), static_cast<int64_t>(origin.embedding().nbytes()));
  EXPECT_TRUE(at::equal(model.embedding(), origin.embedding() * 3)) << "only memory holds it";
}

TEST_F(ModelTest, RemovalRenumbersAndStillLoadsTheRightLayer) {
  Model origin = lively_model(tiny_config(), 10);
  Model model(std::make_shared<MemoryCheckpoint>(origin), {});
  model.layer(2);
  model.remove_layers({0});
  EXPECT_EQ(model.config().layers, 2);
  EXPECT_TRUE(at::equal(model.layer(0).of(Role::query), origin.layer(1).of(Role::query)));
  EXPECT_TRUE(at::equal(model.layer(1).of(Role::query), origin.layer(2).of(Role::query)));
  EXPECT_EQ(model.named_weights().back().first, "model.norm.weight");
  EXPECT_EQ(model.named_weights().size(), 2 + 2 * 9u);
}

TEST_F(ModelTest, RoundsWeightsWhenAsked) {
  Model origin = lively_model(tiny_config(), 10);
  ModelOptions options;
  options.weights = at::kBFloat16;
  Model model(std::make_shared<MemoryCheckpoint>(origin), options);
  EXPECT_EQ(model.layer(0).of(Role::query).scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(model.layer(0).of(Role::query),
                        origin.layer(0).of(Role::query).to(at::kBFloat16).to(at::kFloat)));
}

TEST(DeviceTest, Names) {
  EXPECT_EQ(scalar_type("bfloat16"), at::kBFloat16);
  EXPECT_EQ(scalar_type_name(at::kHalf), "float16");
  EXPECT_THROW(scalar_type("float8"), Error);
  EXPECT_EQ(device_from_name("cpu"), at::Device(at::kCPU));
  EXPECT_THROW(device_from_name("tpu"), Error);
  EXPECT_THROW(device_from_name("cuda:"), Error);
  EXPECT_THROW(device_from_name("cuda:99"), Error);
  device_from_name("auto");
}

}  // namespace
}  // namespace cupel::core
