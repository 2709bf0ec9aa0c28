// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "tiny_model.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/cat.h"
#include "base/rng.h"
#include "export/artifact_writer.h"
#include "export/safetensors_writer.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"

namespace cupel::runtime {
namespace {

using format::Role;

const std::vector<Role> kLayerRoles{Role::attention_norm, Role::query,  Role::key,
                                    Role::value,          Role::output, Role::mlp_norm,
                                    Role::gate,           Role::up,     Role::down};

void for_each_weight(const format::ModelConfig& config,
                     const std::function<void(format::WeightId)>& visit) {
  visit({Role::embedding, -1});
  for (int layer = 0; layer < config.layers; ++layer)
    for (const Role role : kLayerRoles) visit({role, layer});
  visit({Role::final_norm, -1});
  if (!config.tied_head) visit({Role::head, -1});
}

/// Width of the input that a role reads, and its rows.
std::pair<int64_t, int64_t> rows_cols(const format::ModelConfig& config, Role role) {
  const auto shape = config.shape_of(role);
  return shape.size() == 1 ? std::pair{int64_t{1}, shape[0]} : std::pair{shape[0], shape[1]};
}

format::WeightCode uniform_code(const Packing& packing, int64_t rows, int64_t cols,
                                const std::vector<float>& w) {
  format::UniformParams params;
  params.bits = packing.bits;
  params.group = packing.group;
  params.symmetric = packing.symmetric;
  const auto layout = std::make_shared<format::UniformLayout>(params);
  const int64_t width = layout->group_width(cols), groups = layout->groups(cols);
  const float top = static_cast<float>((1 << packing.bits) - 1),
              middle = static_cast<float>(1 << (packing.bits - 1));
  std::vector<uint8_t> codes(w.size()), zeros(static_cast<std::size_t>(rows * groups));
  std::vector<uint16_t> scales(zeros.size());
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g) {
      const auto begin = static_cast<std::size_t>(o * cols + g * width);
      const auto end = static_cast<std::size_t>(o * cols + std::min(cols, (g + 1) * width));
      float low = 0, high = 0;
      for (std::size_t i = begin; i < end; ++i)
        low = std::min(low, w[i]), high = std::max(high, w[i]);
      const float range = packing.symmetric ? 2 * std::max(high, -low) : high - low;
      const auto at = static_cast<std::size_t>(o * groups + g);
      scales[at] = format::f32_to_f16(std::max(range / top, 1e-6F));
      const float scale = format::f16_to_f32(scales[at]);
      const float zero =
          packing.symmetric ? middle : std::clamp(std::round(-low / scale), 0.F, top);
      zeros[at] = static_cast<uint8_t>(zero);
      for (std::size_t i = begin; i < end; ++i)
        codes[i] = static_cast<uint8_t>(std::clamp(std::round(w[i] / scale) + zero, 0.F, top));
    }
  format::WeightCode code{layout, rows, cols, {}, {}};
  using format::Array;
  using format::ElementType;
  code.arrays["codes"] = Array::of<uint8_t>(ElementType::u8, {rows, cols}, codes);
  code.arrays["scales"] = Array::of<uint16_t>(ElementType::f16, {rows, groups}, scales);
  if (!packing.symmetric)
    code.arrays["zeros"] = Array::of<uint8_t>(ElementType::u8, {rows, groups}, zeros);
  return code;
}

format::InputTransform random_transform(const std::string& id, int block, int64_t width) {
  Rng rng(1, id);
  format::InputTransform transform{id, block, {}, {}};
  for (int64_t i = 0; i < width; ++i) {
    transform.scale.push_back(static_cast<float>(0.5 + rng.uniform()));
    transform.signs.push_back(rng.below(2) == 0 ? 1 : -1);
  }
  return transform;
}

/// W' of W = W' T: T is diagonal, then orthogonal, so W' is W with the diagonal's inverse, then the
/// same rotation.
std::vector<float> stored_weight(const format::InputTransform& transform, std::vector<float> w,
                                 int64_t rows, int64_t cols) {
  format::InputTransform inverse = transform;
  for (float& s : inverse.scale) s = 1 / s;
  format::apply(inverse, w.data(), rows, cols);
  return w;
}

std::string transform_id(format::WeightId id) {
  switch (id.role) {
    case Role::query:
    case Role::key:
    case Role::value:
      return cat("attention_in.", id.layer);
    case Role::gate:
    case Role::up:
      return cat("mlp_in.", id.layer);
    default:
      return cat(format::role_name(id.role), ".", id.layer);
  }
}

using Vector = std::vector<double>;

Vector multiply(const std::vector<float>& w, const Vector& x) {
  Vector y(w.size() / x.size(), 0.0);
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < x.size(); ++i)
      y[o] += static_cast<double>(w[o * x.size() + i]) * x[i];
  return y;
}

Vector norm(const Vector& x, const std::vector<float>& weight, double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] / std::sqrt(squares / static_cast<double>(x.size()) + eps) *
           static_cast<double>(weight[i]);
  return y;
}

void rotate(Vector& x, int64_t head_dim, const std::vector<double>& frequencies,
            std::size_t position) {
  const auto half = static_cast<std::size_t>(head_dim / 2);
  for (std::size_t head = 0; head < x.size(); head += 2 * half)
    for (std::size_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(position) * frequencies[j];
      const double a = x[head + j], b = x[head + half + j];
      x[head + j] = a * std::cos(angle) - b * std::sin(angle);
      x[head + half + j] = b * std::cos(angle) + a * std::sin(angle);
    }
}

/// One query position over keys and values of all positions up to it.
Vector attend(const format::ModelConfig& config, const Vector& q, const std::vector<Vector>& keys,
              const std::vector<Vector>& values) {
  const auto dim = static_cast<std::size_t>(config.head_dim);
  const auto share = static_cast<std::size_t>(config.heads / config.kv_heads);
  Vector out(q.size(), 0.0);
  for (std::size_t h = 0; h * dim < q.size(); ++h) {
    const std::size_t from = h / share * dim;
    Vector score(keys.size(), 0.0);
    for (std::size_t p = 0; p < keys.size(); ++p)
      for (std::size_t d = 0; d < dim; ++d)
        score[p] += q[h * dim + d] * keys[p][from + d] / std::sqrt(double(dim));
    const double top = *std::max_element(score.begin(), score.end());
    double total = 0;
    for (double& s : score) total += s = std::exp(s - top);
    for (std::size_t p = 0; p < keys.size(); ++p)
      for (std::size_t d = 0; d < dim; ++d)
        out[h * dim + d] += score[p] / total * values[p][from + d];
  }
  return out;
}

void add(Vector& x, const Vector& d) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += d[i];
}

}  // namespace

std::vector<float>& TinyModel::at(Role role, int layer) {
  return weights[format::canonical_name(config.architecture(), {role, layer})];
}

TinyModel make_tiny(uint64_t seed, bool tied) {
  TinyModel model;
  auto& c = model.config;
  c.family = "llama";
  c.vocab = 203;
  c.hidden = 96;
  c.layers = 2;
  c.heads = 6;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.intermediate = 160;
  c.max_positions = 600;
  c.tied_head = tied;
  for_each_weight(c, [&](format::WeightId id) {
    const auto [rows, cols] = rows_cols(c, id.role);
    auto& w = model.at(id.role, id.layer);
    Rng rng(seed, format::canonical_name(c.architecture(), id));
    w.resize(static_cast<std::size_t>(rows * cols));
    const double spread = rows == 1 ? 0.2 : 1.5 / std::sqrt(static_cast<double>(cols));
    for (float& v : w) v = static_cast<float>((rows == 1 ? 1.0 : 0.0) + spread * rng.normal());
  });
  return model;
}

std::string temporary_path(const std::string& name) {
  struct Folder {
    std::string path =
        (std::filesystem::temp_directory_path() / cat("cupel_runtime_test_", ::getpid())).string();
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path + "/" + name;
}

std::string write_folder(const TinyModel& model, const std::string& name,
                         const std::string& tokenizer_json) {
  std::vector<export_::OutputTensor> tensors;
  for_each_weight(model.config, [&](format::WeightId id) {
    const std::string weight = format::canonical_name(model.config.architecture(), id);
    tensors.push_back({weight, model.config.shape_of(id.role), format::ElementType::f32,
                       [&values = model.weights.at(weight)](std::span<float> out) {
                         std::copy(values.begin(), values.end(), out.begin());
                       }});
  });
  const std::string path = temporary_path(name);
  export_::write_hf_folder(path, tensors, format::config_to_json(model.config), tokenizer_json);
  return path;
}

std::string write_packed(const TinyModel& model, const Packing& packing, const std::string& name,
                         TinyModel* stored, const std::string& tokenizer_json) {
  export_::ArtifactContent content;
  content.config_json = format::config_to_json(model.config);
  content.tokenizer_json = tokenizer_json;
  content.manifest_json = "{}";
  if (stored) stored->config = model.config;
  for_each_weight(model.config, [&](format::WeightId id) {
    const auto [rows, cols] = rows_cols(model.config, id.role);
    const std::string weight = format::canonical_name(model.config.architecture(), id);
    std::vector<float> w = model.weights.at(weight);
    format::InputTransform transform;
    if (format::is_matrix(id.role) && packing.hadamard > 0) {
      transform = random_transform(transform_id(id), packing.hadamard, cols);
      w = stored_weight(transform, std::move(w), rows, cols);
    }
    auto code = packing.layout == "uniform" && format::is_matrix(id.role)
                    ? uniform_code(packing, rows, cols, w)
                    : format::dense_code(format::ElementType::f32, rows, cols, w);
    code.input = transform;
    if (stored) {
      auto& values = stored->weights[weight];
      values.resize(w.size());
      code.layout->decode(code, values);
      format::undo_on_weight(transform, values.data(), rows, cols);
    }
    content.weights.push_back({weight, std::move(code)});
  });
  const std::string path = temporary_path(name);
  export_::write_artifact(path, content);
  return path;
}

std::vector<std::vector<double>> reference_logits(const TinyModel& model,
                                                  const std::vector<text::Token>& ids) {
  const auto& c = model.config;
  const auto weight = [&](Role role, int layer) -> const std::vector<float>& {
    return model.weights.at(format::canonical_name(c.architecture(), {role, layer}));
  };
  const auto frequencies = format::rope_frequencies(c.rope, c.head_dim);
  std::vector<std::vector<Vector>> keys(static_cast<std::size_t>(c.layers)), values(keys.size());
  std::vector<std::vector<double>> logits;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    const float* row = weight(Role::embedding, -1).data() + ids[p] * c.hidden;
    Vector x(row, row + c.hidden);
    for (int l = 0; l < c.layers; ++l) {
      const auto layer = static_cast<std::size_t>(l);
      const Vector h = norm(x, weight(Role::attention_norm, l), c.norm_eps);
      Vector q = multiply(weight(Role::query, l), h), k = multiply(weight(Role::key, l), h);
      rotate(q, c.head_dim, frequencies, p);
      rotate(k, c.head_dim, frequencies, p);
      keys[layer].push_back(k);
      values[layer].push_back(multiply(weight(Role::value, l), h));
      add(x, multiply(weight(Role::output, l), attend(c, q, keys[layer], values[layer])));
      const Vector m = norm(x, weight(Role::mlp_norm, l), c.norm_eps);
      Vector gate = multiply(weight(Role::gate, l), m);
      const Vector up = multiply(weight(Role::up, l), m);
      for (std::size_t i = 0; i < gate.size(); ++i)
        gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      add(x, multiply(weight(Role::down, l), gate));
    }
    logits.push_back(multiply(weight(c.tied_head ? Role::embedding : Role::head, -1),
                              norm(x, weight(Role::final_norm, -1), c.norm_eps)));
  }
  return logits;
}

std::vector<text::Token> random_ids(uint64_t seed, int64_t count, int64_t vocab) {
  Rng rng(seed, "ids");
  std::vector<text::Token> ids(static_cast<std::size_t>(count));
  for (auto& id : ids) id = static_cast<text::Token>(rng.below(static_cast<uint64_t>(vocab)));
  return ids;
}

std::vector<float> logits_of(Session& session, const std::vector<text::Token>& ids) {
  session.rewind(0);
  const auto logits = session.forward(ids, static_cast<int64_t>(ids.size()));
  return {logits.begin(), logits.end()};
}

double largest_difference(const std::vector<float>& logits,
                          const std::vector<std::vector<double>>& reference) {
  double worst = 0;
  std::size_t i = 0;
  for (const auto& row : reference)
    for (const double value : row)
      worst = std::max(worst, std::abs(value - static_cast<double>(logits.at(i++))));
  return worst;
}

}  // namespace cupel::runtime
