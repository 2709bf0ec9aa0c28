// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "format/artifact.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

/// A packed model as a checkpoint: weights are decoded, their input transforms undone.
class ArtifactCheckpoint final : public Checkpoint {
 public:
  explicit ArtifactCheckpoint(const std::string& path)
      : path_(path), artifact_(Artifact::open(path)) {
    config_ = artifact_->config();
    config_json_ = artifact_->config_json();
    file_bytes_ = artifact_->file_bytes();
    const Architecture& arch = config_.architecture();
    for (const WeightId id : weight_ids(config_)) {
      const ArtifactTensor* t = artifact_->find(id);
      const std::string name = canonical_name(arch, id);
      CUPEL_CHECK(t, data, "'", path, "' lacks the weight '", name, "'");
      const auto shape = config_.shape_of(id.role);
      const int64_t rows = shape.size() == 2 ? shape[0] : 1;
      CUPEL_CHECK(t->rows == rows && t->cols == shape.back(), data, "'", path, "': weight '", name,
                  "' is ", t->rows, " x ", t->cols, ", ", rows, " x ", shape.back(),
                  " expected from its config");
      tensors_[name] = t;
      weights_.push_back({name, id, shape, t->layout->name(), t->bytes});
    }
  }

  void read(std::string_view name, std::span<float> out) const override {
    const ArtifactTensor& t = tensor(name);
    in_frame(cat("reading weight '", name, "' of '", path_, "'"), [&] {
      CUPEL_CHECK(out.size() == static_cast<std::size_t>(t.rows * t.cols), internal, "buffer of ",
                  out.size(), " for ", t.rows, " x ", t.cols, " elements");
      t.layout->unpack(t.planes, t.rows, t.cols, 0, t.rows, out);
      undo_on_weight(t.input, out.data(), t.rows, t.cols);
      check_finite(out, name);
    });
  }
  std::optional<RoundedInput> rounded_input(std::string_view name) const override {
    const ArtifactTensor& t = tensor(name);
    if (t.rounding.none()) return std::nullopt;
    return RoundedInput{t.input, t.rounding};
  }
  std::string tokenizer_json() const override { return artifact_->tokenizer_json(); }
  std::string kind() const override { return cat("cupel ", artifact_->version()); }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.add(config_json_);
    for (const WeightInfo& w : weights_) {
      const ArtifactTensor& t = tensor(w.name);
      hash.add(cat("\n", w.name, " ", w.stored_as, " ", list_text(w.shape), " ",
                   params_json(t.layout->params()), " ", t.input.id, " ", description(t.rounding)));
      for (const auto& [plane, view] : t.planes) hash.add(cat(" ", plane, " ", crc32c(view.bytes)));
    }
    return hash.hex();
  }

 private:
  const ArtifactTensor& tensor(std::string_view name) const {
    const auto it = tensors_.find(name);
    CUPEL_CHECK(it != tensors_.end(), internal, "no weight '", name, "' in '", path_, "'");
    return *it->second;
  }

  std::string path_;
  std::shared_ptr<const Artifact> artifact_;
  std::map<std::string, const ArtifactTensor*, std::less<>> tensors_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_artifact_checkpoint(const std::string& path) {
  return std::make_unique<ArtifactCheckpoint>(path);
}

}  // namespace cupel::format
