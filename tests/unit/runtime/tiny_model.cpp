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

/// The transform of a matrix's input, which others of its layer may read too.
std::string transform_id(const format::ModelConfig& config, format::WeightId id) {
  if (id.layer >= 0)
    for (const auto& group : format::input_groups(config, id.layer))
      if (std::find(group.begin(), group.end(), id) != group.end()) id = group.front();
  return cat(format::role_name(id.role), ".", id.layer, ".", id.expert);
}

}  // namespace

std::vector<float>& TinyModel::at(Role role, int layer, int expert) {
  return weights[format::canonical_name(config.architecture(), {role, layer, expert})];
}

const std::vector<float>& TinyModel::at(format::WeightId id) const {
  return weights.at(format::canonical_name(config.architecture(), id));
}

std::vector<kernels::Isa> levels() {
  using kernels::Isa;
  std::vector<Isa> result;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
    if (isa <= kernels::best_isa()) result.push_back(isa);
  return result;
}

TinyModel make_tiny(uint64_t seed, bool tied) {
  format::ModelConfig c;
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
  return make_tiny(seed, c);
}

TinyModel make_tiny(uint64_t seed, const format::ModelConfig& config) {
  TinyModel model;
  model.config = config;
  for (const format::WeightId id : format::weight_ids(config)) {
    const auto [rows, cols] = rows_cols(config, id.role);
    auto& w = model.at(id.role, id.layer, id.expert);
    Rng rng(seed, format::canonical_name(config.architecture(), id));
    w.resize(static_cast<std::size_t>(rows * cols));
    const bool matrix = config.shape_of(id.role).size() == 2;
    const double spread = matrix ? 1.5 / std::sqrt(static_cast<double>(cols)) : 0.2;
    const double middle = format::is_norm(id.role) && !config.norm_plus_one ? 1.0 : 0.0;
    for (float& v : w) v = static_cast<float>(middle + spread * rng.normal());
  }
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
  for (const format::WeightId id : format::weight_ids(model.config))
    tensors.push_back({format::canonical_name(model.config.architecture(), id),
                       model.config.shape_of(id.role), format::ElementType::f32,
                       [&values = model.at(id)](std::span<float> out) {
                         std::copy(values.begin(), values.end(), out.begin());
                       }});
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
  for (const format::WeightId id : format::weight_ids(model.config)) {
    const auto [rows, cols] = rows_cols(model.config, id.role);
    const std::string weight = format::canonical_name(model.config.architecture(), id);
    std::vector<float> w = model.weights.at(weight);
    format::InputTransform transform;
    if (format::is_matrix(id.role) && packing.hadamard != 0) {
      transform =
          random_transform(transform_id(model.config, id),
                           packing.hadamard > 0 ? packing.hadamard : static_cast<int>(cols), cols);
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
    content.weights.push_back({weight, [code = std::move(code)] { return code; }});
  }
  const std::string path = temporary_path(name);
  export_::write_artifact(path, content);
  return path;
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
