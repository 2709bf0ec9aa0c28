// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
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
// Elements that are rounded at once: an embedding rounded whole would be held three times.
constexpr int64_t kRoundedAtOnce = int64_t{1} << 22;

void round_in_pieces(const at::Tensor& t, at::ScalarType type) {
  const at::Tensor flat = t.view({-1});
  for (int64_t i = 0; i < flat.numel(); i += kRoundedAtOnce) {
    const at::Tensor piece = flat.slice(0, i, std::min(i + kRoundedAtOnce, flat.numel()));
    piece.copy_(piece.to(type));
  }
}

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

int64_t LayerWeights::bytes() const {
  int64_t sum = 0;
  for (const auto& [slot, t] : tensors_) sum += t.defined() ? static_cast<int64_t>(t.nbytes()) : 0;
  return sum;
}

Model::Model(const format::ModelConfig& config, const ModelOptions& options)
    : config_(config),
      options_(options),
      layers_(static_cast<std::size_t>(config.layers)),
      replaced_(layers_.size() + 1) {
  for (int i = 0; i < layers(); ++i) source_layer_.push_back(i);
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

at::Tensor& Model::slot(WeightId id) {
  if (id.layer >= 0) return layers_[static_cast<std::size_t>(id.layer)].of(id.role, id.expert);
  CUPEL_ASSERT(id.role == Role::embedding || id.role == Role::final_norm || id.role == Role::head);
  return id.role == Role::embedding ? embedding_ : id.role == Role::head ? head_ : final_norm_;
}

std::string Model::source_name(WeightId id) const {
  CUPEL_ASSERT(source_ != nullptr);
  if (id.layer >= 0) id.layer = source_layer_[static_cast<std::size_t>(id.layer)];
  return format::canonical_name(config_.architecture(), id);
}

bool Model::is_from_source(WeightId id) const {
  return source_ && !replaced(id.layer).contains({id.role, id.expert});
}

std::shared_ptr<const format::RoundedInput> Model::load_input(WeightId id) const {
  if (!format::is_matrix(id.role)) return nullptr;
  auto input = source_->rounded_input(source_name(id));
  return input ? std::make_shared<const format::RoundedInput>(std::move(*input)) : nullptr;
}

at::Tensor Model::load(WeightId id) const {
  const auto found = replaced(id.layer).find({id.role, id.expert});
  if (found != replaced(id.layer).end()) {
    CUPEL_ASSERT(found->second);
    return found->second().to(options_.device, options_.compute);
  }
  const std::string name = source_name(id);
  at::Tensor t = at::empty(config_.shape_of(id.role), at::kFloat);
  source_->read(name, {t.data_ptr<float>(), static_cast<std::size_t>(t.numel())});
  if (options_.device.is_cpu() && options_.compute == at::kFloat) {
    if (options_.weights != at::kFloat) round_in_pieces(t, options_.weights);
    return t;
  }
  return t.to(options_.weights).to(options_.device, options_.compute);
}

void Model::load_layer(int index) {
  for (const WeightId id : format::layer_weight_ids(config_, index)) {
    LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
    at::Tensor& t = layer.of(id.role, id.expert);
    if (t.defined()) continue;
    t = load(id);
    if (is_from_source(id)) layer.set_input(id.role, id.expert, load_input(id));
  }
}

LayerWeights& Model::layer(int index) {
  CUPEL_ASSERT(index >= 0 && index < layers());
  load_layer(index);
  return layers_[static_cast<std::size_t>(index)];
}

at::Tensor& Model::embedding() {
  return weight({Role::embedding});
}

at::Tensor& Model::final_norm() {
  return weight({Role::final_norm});
}

at::Tensor& Model::head() {
  return weight({config_.tied_head ? Role::embedding : Role::head});
}

at::Tensor& Model::weight(WeightId id) {
  if (id.layer >= 0) load_layer(id.layer);
  at::Tensor& t = slot(id);
  if (!t.defined()) t = load(id);
  return t;
}

at::Tensor Model::peek(WeightId id) {
  const at::Tensor& held = slot(id);
  return held.defined() ? held : load(id);
}

void Model::set_weight(WeightId id, at::Tensor value, WeightSource again) {
  const std::vector<int64_t> shape = config_.shape_of(id.role);
  CUPEL_CHECK(value.sizes() == at::IntArrayRef(shape), internal, "a new ",
              format::role_name(id.role), " weight has shape ", list_text(value.sizes()),
              ", the model needs ", list_text(shape));
  if (id.layer >= 0 && is_from_source(id))
    layers_[static_cast<std::size_t>(id.layer)].set_input(id.role, id.expert, load_input(id));
  slot(id) = value.to(options_.device, options_.compute);
  replaced_[static_cast<std::size_t>(id.layer + 1)].insert_or_assign(Slot{id.role, id.expert},
                                                                     std::move(again));
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
  return is_from_source(id) ? load_input(id) : layer.input_of(id.role, id.expert);
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
  CUPEL_ASSERT(index >= -1 && index < layers());
  const auto ids = index >= 0
                       ? format::layer_weight_ids(config_, index)
                       : std::vector<WeightId>{{Role::embedding}, {Role::final_norm}, {Role::head}};
  for (const WeightId id : ids) {
    const auto found = replaced(index).find({id.role, id.expert});
    if (found != replaced(index).end() ? found->second != nullptr : source_ != nullptr)
      slot(id) = at::Tensor();
  }
}

int64_t Model::resident_bytes() const {
  int64_t sum = 0;
  for (const at::Tensor* t : {&embedding_, &final_norm_, &head_})
    sum += t->defined() ? static_cast<int64_t>(t->nbytes()) : 0;
  for (const LayerWeights& layer : layers_) sum += layer.bytes();
  return sum;
}

void Model::remove_layers(const std::vector<int>& removed) {
  const std::set<int> gone(removed.begin(), removed.end());
  CUPEL_ASSERT(gone.size() == removed.size());
  CUPEL_ASSERT(gone.empty() || (*gone.begin() >= 0 && *gone.rbegin() < layers()));
  std::vector<LayerWeights> kept;
  std::vector<int> source_layer;
  std::vector<Replaced> replaced{std::move(replaced_.front())};
  std::vector<format::LayerKind> kinds;
  for (int i = 0; i < layers(); ++i) {
    if (gone.contains(i)) continue;
    const auto at = static_cast<std::size_t>(i);
    kept.push_back(std::move(layers_[at]));
    source_layer.push_back(source_layer_[at]);
    replaced.push_back(std::move(replaced_[at + 1]));
    kinds.push_back(config_.kind(i));
  }
  layers_ = std::move(kept);
  source_layer_ = std::move(source_layer);
  replaced_ = std::move(replaced);
  config_.layers = static_cast<int64_t>(layers_.size());
  if (!config_.kinds.empty()) config_.kinds = std::move(kinds);
}

}  // namespace cupel::core
