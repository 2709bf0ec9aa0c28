// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "format/checkpoint_kinds.h"
#include "format/gguf_config.h"
#include "format/gguf_weights.h"

namespace cupel::format {
namespace {

class GgufCheckpoint final : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::string& path) : file_(path) {
    file_bytes_ = file_.file_bytes();
    notes_ = file_.notes();
    in_frame(cat("reading '", path, "'"), [&] {
      config_json_ = gguf_config_json(file_, notes_);
      in_frame("understanding its metadata as a config.json",
               [&] { config_ = config_from_json(config_json_); });
      tensors_.emplace(file_, config_, extra_layers(), notes_);
      list_weights();
      if (std::string note = gguf_tokenizer_note(file_); !note.empty()) notes_.push_back(note);
    });
  }

  void read(std::string_view name, std::span<float> out) const override {
    const WeightInfo* info = find(name);
    CUPEL_CHECK(info, internal, "no weight '", name, "' in '", file_.path(), "'");
    in_frame(cat("reading weight '", name, "' of '", file_.path(), "'"), [&] {
      tensors_->read(info->id, out);
      check_finite(out, name);
    });
  }
  std::string tokenizer_json() const override { return gguf_tokenizer_json(file_); }
  std::string kind() const override { return file_.kind(); }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.add(config_json_);
    for (const TensorEntry& t : file_.tensors())
      if (tensors_->used().contains(&t))
        hash.add(cat("\n", t.name, " ", traits(t.type).name, " ", list_text(t.shape), " ",
                     crc32c(t.bytes)));
    return hash.hex();
  }

 private:
  /// Blocks behind the last layer that predict further tokens.
  int64_t extra_layers() const {
    return file_.integer(cat(*file_.text("general.architecture"), ".nextn_predict_layers"))
        .value_or(0);
  }

  void list_weights() {
    for (const WeightId id : weight_ids(config_))
      weights_.push_back({canonical_name(config_.architecture(), id), id, config_.shape_of(id.role),
                          tensors_->stored_as(id), tensors_->bytes(id)});
  }

  GgufFile file_;
  std::optional<GgufWeights> tensors_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_gguf_checkpoint(const std::string& path) {
  return std::make_unique<GgufCheckpoint>(path);
}

}  // namespace cupel::format
