// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

namespace fs = std::filesystem;

/// Prefixes of the decoder inside wrappers, and of the head beside them; the canonical one first.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"model.", ""},
    {"", ""},
    {"language_model.model.", "language_model."},
    {"model.language_model.", ""},
};
constexpr std::string_view kDecoder = "model.";

bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f64;
}

class HfCheckpoint final : public Checkpoint {
 public:
  explicit HfCheckpoint(const std::string& folder) : folder_(folder) {
    const fs::path config = fs::path(folder) / "config.json";
    CUPEL_CHECK(fs::exists(config), user, "no model in '", folder, "': config.json is missing");
    config_json_ = read_text(config.string());
    in_frame(cat("reading '", config.string(), "'"),
             [&] { config_ = config_from_json(config_json_, &notes_); });
    container_ = open_safetensors(folder);
    file_bytes_ = container_->file_bytes();
    notes_.insert(notes_.end(), container_->notes().begin(), container_->notes().end());
    in_frame(cat("matching the tensors of '", folder, "' with its config.json"), [&] {
      assign();
      resolve_head();
      list_weights();
    });
  }

  void read(std::string_view name, std::span<float> out) const override {
    const TensorEntry& t = stored(name);
    in_frame(cat("reading weight '", name, "' of '", folder_, "'"), [&] {
      CUPEL_CHECK(out.size() == static_cast<std::size_t>(t.elements()), internal, "buffer of ",
                  out.size(), " for ", t.elements(), " elements");
      to_float(t.type, t.bytes, out);
      check_finite(out, name);
    });
  }
  std::string tokenizer_json() const override { return hf_tokenizer_json(folder_); }
  std::string kind() const override { return container_->kind(); }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.add(config_json_);
    for (const WeightInfo& w : weights_)
      hash.add(cat("\n", w.name, " ", w.stored_as, " ", list_text(w.shape), " ",
                   crc32c(stored(w.name).bytes)));
    return hash.hex();
  }

 private:
  const TensorEntry& stored(std::string_view name) const {
    const auto it = stored_.find(name);
    CUPEL_CHECK(it != stored_.end(), internal, "no weight '", name, "' in '", folder_, "'");
    return *it->second;
  }

  /// Name in the file to canonical name: base-model exports and wrappers have other prefixes.
  std::string canonical(std::string_view name) const {
    const auto& [decoder, head] = kPrefixes[prefix_];
    if (!head.empty() && name.starts_with(head) && !name.starts_with(decoder))
      return std::string(name.substr(head.size()));
    if (name.starts_with(decoder) && !(decoder.empty() && name.starts_with("lm_head")))
      return cat(kDecoder, name.substr(decoder.size()));
    return std::string(name);
  }

  void assign() {
    const Architecture& arch = config_.architecture();
    const std::string embedding = canonical_name(arch, {Role::embedding, -1});
    for (std::size_t i = 0; i < std::size(kPrefixes); ++i)
      if (container_->find(cat(kPrefixes[i].first, embedding.substr(kDecoder.size())))) {
        prefix_ = i;
        break;
      }
    std::vector<std::string> unknown;
    for (const TensorEntry& t : container_->tensors()) {
      const std::string name = canonical(t.name);
      const auto id = id_of_canonical(arch, name);
      if (id && id->layer < config_.layers)
        CUPEL_CHECK(stored_.emplace(name, &t).second, data, "two tensors are '", name, "'");
      else if (!id && is_ignored(arch, name))
        notes_.push_back(cat("tensor '", t.name, "' has no effect: ignored"));
      else
        unknown.push_back(t.name);
    }
    CUPEL_CHECK(unknown.empty(), data, unknown.size(), " tensors are not part of a ", arch.family,
                " model of ", config_.layers, " layers, the first is '",
                unknown.empty() ? "" : unknown.front(),
                "'; it may belong to a feature that is not supported");
  }

  static bool is_ignored(const Architecture& arch, std::string_view name) {
    int layer;
    return std::any_of(arch.ignored_tensors.begin(), arch.ignored_tensors.end(),
                       [&](const char* pattern) { return matches_pattern(pattern, name, layer); });
  }

  /// Whether the head is the embedding: what lies in the file decides where it contradicts the
  /// config.
  void resolve_head() {
    const Architecture& arch = config_.architecture();
    const std::string embedding = canonical_name(arch, {Role::embedding, -1});
    const std::string head = canonical_name(arch, {Role::head, -1});
    const bool has_embedding = stored_.contains(embedding), has_head = stored_.contains(head);
    if (has_embedding && !has_head)
      CUPEL_CHECK(config_.tied_head, data, "'", head,
                  "' is missing, and config.json does not tie it to the embedding "
                  "(tie_word_embeddings)");
    if (!config_.tied_head) return;
    if (!has_embedding && has_head) {
      notes_.push_back(cat("'", embedding, "' is taken from '", head, "' (tied)"));
      stored_[embedding] = stored_[head];
    }
    if (has_embedding && has_head && !equal(*stored_[embedding], *stored_[head])) {
      notes_.push_back(cat("config.json ties the head to the embedding, but '", head,
                           "' differs: both are used"));
      config_.tied_head = false;
      config_json_ = config_to_json(config_, config_json_);
      return;
    }
    if (has_embedding && has_head) notes_.push_back(cat("'", head, "' equals the embedding: tied"));
    stored_.erase(head);
  }

  static bool equal(const TensorEntry& a, const TensorEntry& b) {
    return a.type == b.type && a.shape == b.shape &&
           std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
  }

  void list_weights() {
    const Architecture& arch = config_.architecture();
    std::vector<std::string> missing;
    for (const WeightId id : weight_ids(arch, config_.layers, config_.tied_head)) {
      const std::string name = canonical_name(arch, id);
      const auto it = stored_.find(name);
      if (it == stored_.end()) {
        missing.push_back(name);
        continue;
      }
      const TensorEntry& t = *it->second;
      const auto shape = config_.shape_of(id.role);
      CUPEL_CHECK(t.shape == shape, data, "tensor '", t.name, "' has the shape ",
                  list_text(t.shape), ", ", list_text(shape), " expected from config.json");
      CUPEL_CHECK(is_float(t.type), data, "tensor '", t.name, "' is stored as ",
                  traits(t.type).name,
                  ", a float type expected; quantized checkpoints with "
                  "scales of their own are not supported");
      weights_.push_back({name, id, shape, std::string(traits(t.type).name),
                          static_cast<int64_t>(t.bytes.size())});
    }
    CUPEL_CHECK(missing.empty(), data, missing.size(), " tensors are missing, the first is '",
                missing.empty() ? "" : missing.front(), "'; a download may be incomplete");
  }

  std::string folder_;
  std::unique_ptr<Container> container_;
  std::map<std::string, const TensorEntry*, std::less<>> stored_;
  std::size_t prefix_ = 0;
};

}  // namespace

std::unique_ptr<Checkpoint> open_hf_checkpoint(const std::string& folder) {
  return std::make_unique<HfCheckpoint>(folder);
}

}  // namespace cupel::format
