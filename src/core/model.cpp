// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/rng.h"

namespace cupel::core {
namespace {

using format::Role;
using format::WeightId;

// Standard deviation of new weights, as in GPT-2.
constexpr double kInitialDeviation = 0.02;

/// Norms start neutral, biases and sinks at 0.
at::Tensor random_weight(const format::ModelConfig& config, const ModelOptions& options, Role role,
                         Rng rng) {
  const std::vector<int64_t> shape = config.shape_of(role);
  at::Tensor t = at::zeros(shape, at::kFloat);
  if (shape.size() == 1) {
    if (format::is_norm(role) && !config.norm_plus_one) t.fill_(1);
  } else {
    const bool into_stream = role == Role::output || role == Role::down ||
                             role == Role::expert_down || role == Role::shared_down;
    const double scale = into_stream ? 1 / std::sqrt(2.0 * static_cast<double>(config.layers)) : 1;
    float* out = t.data_ptr<float>();
    for (int64_t i = 0; i < t.numel(); ++i)
      out[i] = static_cast<float>(kInitialDeviation * scale * rng.normal());
  }
  return t.to(options.weights).to(options.device, options.compute);
}

}  // namespace

const at::Tensor& LayerWeights::of(Role role, int expert) const {
  const auto found = tensors_.find({role, expert});
  CUPEL_CHECK(found != tensors_.end() && found->second.defined(), internal, "the layer has no ",
              format::role_name(role));
  return found->second;
}

bool LayerWeights::has(Role role, int expert) const {
  const auto found = tensors_.find({role, expert});
  return found != tensors_.end() && found->second.defined();
}

std::shared_ptr<const format::RoundedInput> LayerWeights::input_of(Role role, int expert) const {
  const auto found = inputs_.find({role, expert});
  return found == inputs_.end() ? nullptr : found->second;
}

void LayerWeights::set_input(Role role, int expert,
                             std::shared_ptr<const format::RoundedInput> input) {
  if (input)
    inputs_[{role, expert}] = std::move(input);
  else
    inputs_.erase({role, expert});
}

Model::Model(const format::ModelConfig& config, const ModelOptions& options)
    : config_(config), options_(options), layers_(static_cast<std::size_t>(config.layers)) {
  for (int i = 0; i < layers(); ++i) source_layer_.push_back(i);
  changed_.assign(layers_.size(), false);
}

Model::Model(std::shared_ptr<const format::Checkpoint> source, const ModelOptions& options)
    : Model(source->config(), options) {
  source_ = std::move(source);
  head_input_ = load_input({config_.tied_head ? Role::embedding : Role::head});
}

Model Model::random(const format::ModelConfig& config, const ModelOptions& options, uint64_t seed) {
  Model model(config, options);
  const Rng rng(seed, "model");
  const auto draw = [&](WeightId id) {
    return random_weight(config, options, id.role,
                         rng.child(format::canonical_name(config.architecture(), id)));
  };
  model.embedding_ = draw({Role::embedding});
  model.final_norm_ = draw({Role::final_norm});
  if (!config.tied_head) model.head_ = draw({Role::head});
  for (int i = 0; i < model.layers(); ++i)
    for (const WeightId id : format::layer_weight_ids(config, i))
      model.layers_[static_cast<std::size_t>(i)].of(id.role, id.expert) = draw(id);
  model.changed_.assign(model.layers_.size(), true);
  return model;
}

Model Model::clone() const {
  Model copy = *this;
  const auto own = [](at::Tensor& t) {
    if (t.defined()) t = t.detach().clone();
  };
  own(copy.embedding_);
  own(copy.final_norm_);
  own(copy.head_);
  for (int i = 0; i < layers(); ++i)
    for (const WeightId id : format::layer_weight_ids(config_, i))
      own(copy.layers_[static_cast<std::size_t>(i)].of(id.role, id.expert));
  return copy;
}

std::string Model::source_name(WeightId id) const {
  CUPEL_ASSERT(source_ != nullptr);
  if (id.layer >= 0) id.layer = source_layer_[static_cast<std::size_t>(id.layer)];
  return format::canonical_name(config_.architecture(), id);
}

std::shared_ptr<const format::RoundedInput> Model::load_input(WeightId id) const {
  auto input = source_->rounded_input(source_name(id));
  return input ? std::make_shared<const format::RoundedInput>(std::move(*input)) : nullptr;
}

at::Tensor Model::load(WeightId id) const {
  const std::string name = source_name(id);
  at::Tensor t = at::empty(config_.shape_of(id.role), at::kFloat);
  source_->read(name, {t.data_ptr<float>(), static_cast<std::size_t>(t.numel())});
  return t.to(options_.weights).to(options_.device, options_.compute);
}

void Model::load_layer(int index) {
  for (const WeightId id : format::layer_weight_ids(config_, index)) {
    LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
    at::Tensor& t = layer.of(id.role, id.expert);
    if (t.defined()) continue;
    t = load(id);
    if (format::is_matrix(id.role)) layer.set_input(id.role, id.expert, load_input(id));
  }
}

LayerWeights& Model::layer(int index) {
  CUPEL_ASSERT(index >= 0 && index < layers());
  load_layer(index);
  return layers_[static_cast<std::size_t>(index)];
}

at::Tensor& Model::embedding() {
  if (!embedding_.defined()) embedding_ = load({Role::embedding});
  return embedding_;
}

at::Tensor& Model::final_norm() {
  if (!final_norm_.defined()) final_norm_ = load({Role::final_norm});
  return final_norm_;
}

at::Tensor& Model::head() {
  if (config_.tied_head) return embedding();
  if (!head_.defined()) head_ = load({Role::head});
  return head_;
}

at::Tensor& Model::weight(WeightId id) {
  switch (id.role) {
    case Role::embedding:
      return embedding();
    case Role::final_norm:
      return final_norm();
    case Role::head:
      return head();
    default:
      return layer(id.layer).of(id.role, id.expert);
  }
}

void Model::set_weight(WeightId id, at::Tensor value) {
  const std::vector<int64_t> shape = config_.shape_of(id.role);
  CUPEL_CHECK(value.sizes() == at::IntArrayRef(shape), internal, "a new ",
              format::role_name(id.role), " weight has shape ", list_text(value.sizes()),
              ", the model needs ", list_text(shape));
  weight(id) = value.to(options_.device, options_.compute);
  if (id.layer >= 0) changed_[static_cast<std::size_t>(id.layer)] = true;
}

void Model::set_input(WeightId id, const format::RoundedInput& input) {
  auto kept = input.rounding.none() ? nullptr : std::make_shared<const format::RoundedInput>(input);
  if (id.layer >= 0) return layer(id.layer).set_input(id.role, id.expert, std::move(kept));
  CUPEL_ASSERT(is_head(id) || !kept);
  if (is_head(id)) head_input_ = std::move(kept);
}

std::shared_ptr<const format::RoundedInput> Model::input_of(WeightId id) const {
  if (id.layer < 0) return is_head(id) ? head_input_ : nullptr;
  const LayerWeights& layer = layers_[static_cast<std::size_t>(id.layer)];
  const bool known = !source_ || layer.has(id.role, id.expert);
  return known ? layer.input_of(id.role, id.expert) : load_input(id);
}

std::vector<std::pair<std::string, at::Tensor>> Model::named_weights() {
  std::vector<std::pair<std::string, at::Tensor>> out;
  const auto add = [&](WeightId id) {
    out.emplace_back(format::canonical_name(config_.architecture(), id), weight(id));
  };
  for (const WeightId id : format::weight_ids(config_)) add(id);
  return out;
}

void Model::evict(int index) {
  CUPEL_ASSERT(index >= 0 && index < layers());
  if (source_ && !changed_[static_cast<std::size_t>(index)])
    layers_[static_cast<std::size_t>(index)] = {};
}

void Model::remove_layers(const std::vector<int>& removed) {
  const std::set<int> gone(removed.begin(), removed.end());
  CUPEL_ASSERT(gone.size() == removed.size());
  CUPEL_ASSERT(gone.empty() || (*gone.begin() >= 0 && *gone.rbegin() < layers()));
  std::vector<LayerWeights> kept;
  std::vector<int> source_layer;
  std::vector<bool> changed;
  std::vector<format::LayerKind> kinds;
  for (int i = 0; i < layers(); ++i) {
    if (gone.contains(i)) continue;
    const auto at = static_cast<std::size_t>(i);
    kept.push_back(std::move(layers_[at]));
    source_layer.push_back(source_layer_[at]);
    changed.push_back(changed_[at]);
    kinds.push_back(config_.kind(i));
  }
  layers_ = std::move(kept);
  source_layer_ = std::move(source_layer);
  changed_ = std::move(changed);
  config_.layers = static_cast<int64_t>(layers_.size());
  if (!config_.kinds.empty()) config_.kinds = std::move(kinds);
}

}  // namespace cupel::core
