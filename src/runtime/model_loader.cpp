// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/model_loader.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/threads.h"
#include "format/layouts/dense.h"
#include "runtime/linear_step.h"
#include "runtime/readahead.h"
#include "runtime/thread_pool.h"

namespace cupel::runtime {
namespace {

using format::ArtifactTensor;
using format::Role;

bool same_transform(const format::InputTransform& a, const format::InputTransform& b) {
  return a.hadamard == b.hadamard && a.scale == b.scale && a.signs == b.signs;
}

std::string rounding_text(const ArtifactTensor& tensor) {
  return tensor.rounding.none() ? "none" : description(tensor.rounding);
}

}  // namespace

ModelLoader::ModelLoader(const std::string& path, const LoadOptions& options) : model_(new Model) {
  CUPEL_CHECK(options.device == kernels::Device::cpu, environment,
              "this runtime computes on the CPU only; choose --device cpu");
  model_->path_ = path;
  model_->options_ = options;
  model_->cpu_ = &kernels::cpu_kernels(options.isa);
}

std::shared_ptr<const Model> ModelLoader::load() {
  if (model_->path_.ends_with(".cupel") || format::is_artifact(model_->path_)) {
    map();
  } else {
    convert();
  }
  prepare();
  return model_;
}

void ModelLoader::map() {
  model_->artifact_ = format::Artifact::open(model_->path_);
  model_->config_ = model_->artifact_->config();
  model_->file_bytes_ = model_->artifact_->file_bytes();
  const std::byte *begin = nullptr, *end = nullptr;
  for (const auto& tensor : tensors())
    for (const auto& [name, plane] : tensor.planes) {
      if (!begin || plane.bytes.data() < begin) begin = plane.bytes.data();
      end = std::max(end, plane.bytes.data() + plane.bytes.size());
    }
  model_->readahead_ = read_ahead({begin, end});
}

void ModelLoader::convert() {
  const auto checkpoint = format::Checkpoint::open(model_->path_);
  model_->config_ = checkpoint->config();
  model_->tokenizer_json_ = checkpoint->tokenizer_json();
  model_->file_bytes_ = checkpoint->file_bytes();
  for (const auto& note : checkpoint->notes()) log::info("runtime", note);
  double bytes = 0;
  for (const auto& w : checkpoint->weights()) {
    ArtifactTensor tensor;
    tensor.name = w.name;
    tensor.id = w.id;
    tensor.rows = w.shape.size() == 1 ? 1 : w.shape[0];
    tensor.cols = w.shape.back();
    tensor.bytes = 4 * tensor.rows * tensor.cols;
    bytes += static_cast<double>(tensor.bytes);
    model_->converted_.push_back(std::move(tensor));
  }
  log::info("runtime", cat(model_->path_, " (", checkpoint->kind(), ", ",
                           human_bytes(static_cast<double>(checkpoint->file_bytes())),
                           ") is converted to float32: ", human_bytes(bytes),
                           " of memory; an exported .cupel file is mapped as it is"));
  const auto count = static_cast<int64_t>(model_->converted_.size());
  model_->converted_values_.resize(model_->converted_.size());
  ThreadPool(usable_processors()).for_range(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) convert_weight(*checkpoint, static_cast<std::size_t>(i));
  });
}

void ModelLoader::convert_weight(const format::Checkpoint& checkpoint, std::size_t index) {
  static const auto kLayout = std::make_shared<const format::DenseLayout>(format::DenseParams{});
  ArtifactTensor& tensor = model_->converted_[index];
  const auto count = static_cast<std::size_t>(tensor.rows * tensor.cols);
  auto& values = model_->converted_values_[index];
  values = std::make_unique_for_overwrite<float[]>(count);
  checkpoint.read(tensor.name, {values.get(), count});
  tensor.layout = kLayout;
  const auto spec = kLayout->plane_specs(tensor.rows, tensor.cols).at(0);
  tensor.planes[spec.name] = {spec.type, spec.shape, std::as_bytes(std::span(values.get(), count))};
}

const std::vector<ArtifactTensor>& ModelLoader::tensors() const {
  return model_->artifact_ ? model_->artifact_->tensors() : model_->converted_;
}

const ArtifactTensor& ModelLoader::weight(format::WeightId id) const {
  const auto found = by_id_.find(id);
  const auto& config = model_->config_;
  CUPEL_CHECK(found != by_id_.end(), data, "the model has no ",
              format::canonical_name(config.architecture(), id));
  const ArtifactTensor& tensor = *found->second;
  const auto shape = config.shape_of(id.role);
  const int64_t rows = shape.size() == 1 ? 1 : shape[0], cols = shape.back();
  CUPEL_CHECK(tensor.rows == rows && tensor.cols == cols, data, tensor.name, ": shape ",
              list_text(shape), " expected from the configuration, ", tensor.rows, " x ",
              tensor.cols, " found");
  return tensor;
}

void ModelLoader::count_bytes(const ArtifactTensor& tensor) {
  (tensor.id.expert < 0 ? model_->streamed_bytes_ : expert_bytes_) += tensor.bytes;
}

std::vector<float> ModelLoader::vector(format::WeightId id) {
  const ArtifactTensor& tensor = weight(id);
  std::vector<float> values(static_cast<std::size_t>(tensor.cols));
  tensor.layout->unpack(tensor.planes, 1, tensor.cols, 0, 1, values);
  count_bytes(tensor);
  return values;
}

std::vector<float> ModelLoader::vector_if(bool present, format::WeightId id) {
  return present ? vector(id) : std::vector<float>();
}

std::vector<float> ModelLoader::norm_if(bool present, format::WeightId id) {
  std::vector<float> values = vector_if(present, id);
  if (model_->config_.norm_plus_one)
    for (float& v : values) v += 1;
  return values;
}

kernels::Linear ModelLoader::matrix(format::WeightId id) {
  const ArtifactTensor& tensor = weight(id);
  const auto& options = model_->options_;
  count_bytes(tensor);
  const bool int8_mode = options.activations == Activations::int8;
  auto linear = in_frame("preparing " + tensor.name, [&] {
    return kernels::prepare_linear(tensor, options.device, options.isa, int8_mode);
  });
  const bool twice = int8_mode && linear.form.quantized && !tensor.rounding.none() &&
                     !takes_as_rounded(linear.form.block, tensor.rounding);
  if (twice && !rounds_twice_)
    log::warn("runtime", cat(tensor.name, ": its inputs are rounded by the model (",
                             description(tensor.rounding),
                             ") and once more to int8 blocks; --activations exact avoids that"));
  rounds_twice_ = rounds_twice_ || twice;
  return linear;
}

const kernels::RowTransform* ModelLoader::shared_input(
    std::initializer_list<format::WeightId> ids) {
  const ArtifactTensor& first = weight(*ids.begin());
  for (const auto& id : ids) {
    const ArtifactTensor& other = weight(id);
    CUPEL_CHECK(same_transform(first.input, other.input), data, other.name,
                ": an input transform equal to that of ", first.name,
                " expected, because both read the same input; another one found");
    CUPEL_CHECK(first.rounding == other.rounding, data, other.name, ": inputs rounded as for ",
                first.name, " (", rounding_text(first), ") expected, because both read the same ",
                "input; ", rounding_text(other), " found");
  }
  return made_ready(first);
}

const kernels::RowTransform* ModelLoader::made_ready(const ArtifactTensor& tensor) {
  model_->transforms_.push_back(
      in_frame("preparing " + tensor.name, [&] { return kernels::row_transform(tensor.input); }));
  model_->transforms_.back().rounding = tensor.rounding;
  return &model_->transforms_.back();
}

void ModelLoader::prepare() {
  const auto& config = model_->config_;
  for (const ArtifactTensor& tensor : tensors()) by_id_[tensor.id] = &tensor;
  model_->layers_.reserve(static_cast<std::size_t>(config.layers));
  for (int l = 0; l < config.layers; ++l) model_->layers_.push_back(layer(l));
  model_->final_norm_ = norm_if(true, {Role::final_norm});
  model_->embedding_ = &weight({Role::embedding});
  const format::WeightId head{config.tied_head ? Role::embedding : Role::head};
  model_->head_ = matrix(head);
  model_->head_in_ = made_ready(weight(head));
  model_->streamed_bytes_ += model_->embedding_->bytes / std::max<int64_t>(1, config.vocab);
  if (expert_bytes_ > 0)
    model_->streamed_bytes_ += expert_bytes_ / config.experts.count * config.experts.active;
}

}  // namespace cupel::runtime
