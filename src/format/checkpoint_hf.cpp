// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "format/checkpoint_kinds.h"
#include "format/stored_tensor.h"

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
/// Parts of wrappers that see or hear: kept as they are.
constexpr std::string_view kOtherSenses[] = {
    "vision_tower.",       "vision_model.",       "visual.",       "multi_modal_projector.",
    "model.vision_tower.", "model.vision_model.", "model.visual.", "model.multi_modal_projector.",
    "audio_tower.",        "model.audio_tower.",
};

/// Where a weight lies: rows begin, begin + step, ... of a slab of a stored tensor.
struct Slice {
  const StoredTensor* tensor = nullptr;
  int64_t slab = 0, begin = 0, step = 1;
  bool transposed = false;
};

/// N of "model.layers.N.", -1 where there is none.
int64_t layer_of(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  int64_t layer = -1;
  const char* end = name.data() + name.size();
  const char* at = std::from_chars(name.data(), end, layer).ptr;
  return at != end && *at == '.' ? layer : -1;
}

/// Rows of a slice out of the slab's numbers; `total` rows of `cols` lie in the slab.
void take_rows(const Slice& s, std::span<const float> slab, int64_t total, int64_t rows,
               int64_t cols, std::span<float> out) {
  const auto at = [&](int64_t row, int64_t col) {
    return static_cast<std::size_t>(s.transposed ? col * total + row : row * cols + col);
  };
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      out[static_cast<std::size_t>(r * cols + c)] = slab[at(s.begin + r * s.step, c)];
}

std::string quantization_of(const std::string& config_json, const std::string& folder) {
  const auto config = nlohmann::ordered_json::parse(plain_json(config_json));
  for (const auto* object :
       {&config, config.contains("text_config") ? &config["text_config"] : &config})
    if (object->is_object() && object->contains("quantization_config") &&
        !(*object)["quantization_config"].is_null())
      return (*object)["quantization_config"].dump();
  const fs::path beside = fs::path(folder) / "hf_quant_config.json";  // ModelOpt
  return fs::exists(beside) ? read_text(beside.string()) : "";
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
      const std::string quantization = quantization_of(config_json_, folder);
      if (!quantization.empty()) config_json_ = config_to_json(config_, config_json_);
      tensors_ = stored_tensors(*container_, quantization, notes_);
      find_prefix();
      assign();
      resolve_head();
      list_weights();
    });
  }

  void read(std::string_view name, std::span<float> out) const override {
    const WeightInfo* info = find(name);
    CUPEL_CHECK(info, internal, "no weight '", name, "' in '", folder_, "'");
    const Slice& s = slices_.at(info->id);
    in_frame(cat("reading weight '", name, "' of '", folder_, "'"), [&] {
      const int64_t rows = info->shape[0], cols = info->shape.size() > 1 ? info->shape[1] : 1;
      CUPEL_CHECK(out.size() == static_cast<std::size_t>(rows * cols), internal, "buffer of ",
                  out.size(), " for ", rows * cols, " elements");
      const int64_t stored = s.tensor->slab_elements();
      if (stored == rows * cols && !s.transposed) {
        s.tensor->read(s.slab, out);
      } else {
        std::vector<float> slab(static_cast<std::size_t>(stored));
        s.tensor->read(s.slab, slab);
        take_rows(s, slab, stored / cols, rows, cols, out);
      }
      check_finite(out, name);
    });
  }
  std::string tokenizer_json() const override { return hf_tokenizer_json(folder_); }
  std::string kind() const override { return container_->kind(); }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.add(config_json_);
    std::map<std::string_view, const StoredTensor*> by_name;  // however they are sharded
    for (const auto& [id, slice] : slices_) by_name[slice.tensor->name] = slice.tensor;
    for (const auto& [name, t] : by_name)
      hash.add(cat("\n", name, " ", t->stored_as, " ", list_text(t->shape), " ", t->checksum()));
    return hash.hex();
  }

 private:
  /// Name in the file to canonical name: base-model exports and wrappers have other prefixes.
  std::string canonical(std::string_view name) const {
    const auto& [decoder, head] = kPrefixes[prefix_];
    if (!head.empty() && name.starts_with(head) && !name.starts_with(decoder))
      return std::string(name.substr(head.size()));
    if (name.starts_with(decoder) && !(decoder.empty() && name.starts_with("lm_head")))
      return cat(kDecoder, name.substr(decoder.size()));
    return std::string(name);
  }

  void find_prefix() {
    std::set<std::string_view> names;
    for (const auto& t : tensors_) names.insert(t->name);
    const std::string embedding = canonical_name(config_.architecture(), {Role::embedding});
    for (std::size_t i = 0; i < std::size(kPrefixes); ++i)
      if (names.contains(cat(kPrefixes[i].first, embedding.substr(kDecoder.size())))) {
        prefix_ = i;
        return;
      }
  }

  void assign() {
    const Architecture& arch = config_.architecture();
    ModelConfig untied = config_;
    untied.tied_head = false;
    const auto ids = weight_ids(untied);
    const std::set<WeightId> expected(ids.begin(), ids.end());
    std::vector<std::string> unknown, zero_biases;
    for (const auto& t : tensors_) {
      const std::string name = canonical(t->name);
      if (const auto id = id_of_canonical(arch, name); id && expected.contains(*id))
        place_whole(*id, *t);
      else if (take_fused(*t, name, expected) || passes_through(*t, name))
        continue;
      else if (is_bias_of_matrix(name, expected) && is_zero(*t))
        zero_biases.push_back(t->name);
      else if (is_ignored(arch, name))
        notes_.push_back(cat("tensor '", t->name, "' has no effect: ignored"));
      else
        unknown.push_back(t->name);
    }
    CUPEL_CHECK(unknown.empty(), data, unknown.size(), " tensors are not part of a ", arch.family,
                " model of ", config_.layers, " layers as config.json describes it, the first is '",
                unknown.empty() ? "" : unknown.front(),
                "'; it may belong to a feature that is not supported");
    if (!zero_biases.empty())
      notes_.push_back(cat(zero_biases.size(), " biases that a ", arch.family,
                           " model does not have are all zero: ignored, the first is '",
                           zero_biases.front(), "'"));
    if (!passed_through_.empty())
      notes_.push_back(cat(passed_through_.size(),
                           " tensors are not run and pass through unchanged, the first is '",
                           passed_through_.front()->name, "'"));
  }

  void place_whole(WeightId id, const StoredTensor& t) {
    const auto shape = config_.shape_of(id.role);
    CUPEL_CHECK(t.shape == shape, data, "tensor '", t.name, "' has the shape ", list_text(t.shape),
                ", ", list_text(shape), " expected from config.json");
    place(id, {&t});
  }

  void place(WeightId id, Slice slice) {
    CUPEL_CHECK(slices_.emplace(id, slice).second, data, "two tensors are '",
                canonical_name(config_.architecture(), id), "', the second is '",
                slice.tensor->name, "'");
  }

  /// Weights that lie in one tensor with others.
  bool take_fused(const StoredTensor& t, const std::string& name,
                  const std::set<WeightId>& expected) {
    for (const FusedPattern& p : config_.architecture().fused) {
      WeightId id;
      if (!matches_pattern(p.stored, name, id.layer, id.expert)) continue;
      if (!expected.contains({p.parts.front(), id.layer, p.of_experts ? 0 : -1})) continue;
      check_fused(t, p);
      const int experts = p.of_experts ? static_cast<int>(config_.experts.count) : 1;
      for (int e = 0; e < experts; ++e) place_parts(t, p, id.layer, e);
      return true;
    }
    return false;
  }

  void place_parts(const StoredTensor& t, const FusedPattern& p, int layer, int expert) {
    const auto parts = static_cast<int64_t>(p.parts.size());
    int64_t rows = 0, before = 0;
    for (const Role role : p.parts) rows += config_.shape_of(role)[0];
    // The experts of a tensor of two axes (biases) follow one another in its only slab.
    const bool slabs = t.shape.size() == 3;
    const int64_t base = slabs ? 0 : expert * rows;
    for (int64_t i = 0; i < parts; ++i) {
      const Role role = p.parts[static_cast<std::size_t>(i)];
      Slice s{&t, slabs ? expert : 0, base + (p.interleaved ? i : before),
              p.interleaved ? parts : 1, p.transposed && !t.output_major()};
      place({role, layer, p.of_experts ? expert : -1}, s);
      before += config_.shape_of(role)[0];
    }
  }

  void check_fused(const StoredTensor& t, const FusedPattern& p) const {
    std::vector<int64_t> shape = fused_shape(config_, p);
    if (p.transposed && !t.output_major()) std::swap(*shape.rbegin(), *(shape.rbegin() + 1));
    CUPEL_CHECK(t.shape == shape, data, "tensor '", t.name, "' has the shape ", list_text(t.shape),
                ", ", list_text(shape), " expected from config.json");
  }

  bool passes_through(const StoredTensor& t, const std::string& name) {
    const bool other = std::any_of(std::begin(kOtherSenses), std::end(kOtherSenses),
                                   [&](std::string_view s) { return t.name.starts_with(s); });
    const int64_t layer = layer_of(name);
    const bool prediction =
        layer >= config_.layers && layer - config_.layers < config_.extra_layers;
    if (!other && !prediction) return false;
    passed_through_.insert(passed_through_.end(), t.entries.begin(), t.entries.end());
    return true;
  }

  /// Whether it would be added to what a matrix of the model gives. Old writers of GPTQ store zeros
  /// there for every matrix.
  bool is_bias_of_matrix(std::string_view name, const std::set<WeightId>& expected) const {
    constexpr std::string_view kBias = ".bias";
    if (!name.ends_with(kBias)) return false;
    const Architecture& arch = config_.architecture();
    const std::string weight = cat(name.substr(0, name.size() - kBias.size()), ".weight");
    const auto id = id_of_canonical(arch, weight);
    int layer, expert;
    return (id && is_matrix(id->role) && expected.contains(*id)) ||
           std::any_of(arch.fused.begin(), arch.fused.end(), [&](const FusedPattern& p) {
             return matches_pattern(p.stored, weight, layer, expert);
           });
  }

  static bool is_zero(const StoredTensor& t) {
    std::vector<float> values(static_cast<std::size_t>(t.slab_elements()));
    for (int64_t slab = 0; slab < t.slabs(); ++slab) {
      t.read(slab, values);
      if (std::any_of(values.begin(), values.end(), [](float v) { return v != 0; })) return false;
    }
    return true;
  }

  static bool is_ignored(const Architecture& arch, std::string_view name) {
    int layer, expert;
    return std::any_of(
        arch.ignored_tensors.begin(), arch.ignored_tensors.end(),
        [&](const char* pattern) { return matches_pattern(pattern, name, layer, expert); });
  }

  /// Whether the head is the embedding: what lies in the file decides where it contradicts the
  /// config.
  void resolve_head() {
    const Architecture& arch = config_.architecture();
    const WeightId embedding{Role::embedding}, head{Role::head};
    const std::string embedding_name = canonical_name(arch, embedding);
    const std::string head_name = canonical_name(arch, head);
    const bool has_embedding = slices_.contains(embedding), has_head = slices_.contains(head);
    if (has_embedding && !has_head)
      CUPEL_CHECK(config_.tied_head, data, "'", head_name,
                  "' is missing, and config.json does not tie it to the embedding "
                  "(tie_word_embeddings)");
    if (!config_.tied_head) return;
    if (!has_embedding && has_head) {
      notes_.push_back(cat("'", embedding_name, "' is taken from '", head_name, "' (tied)"));
      slices_[embedding] = slices_[head];
    }
    if (has_embedding && has_head && !equal(*slices_[embedding].tensor, *slices_[head].tensor)) {
      notes_.push_back(cat("config.json ties the head to the embedding, but '", head_name,
                           "' differs: both are used"));
      config_.tied_head = false;
      config_json_ = config_to_json(config_, config_json_);
      return;
    }
    if (has_embedding && has_head)
      notes_.push_back(cat("'", head_name, "' equals the embedding: tied"));
    slices_.erase(head);
  }

  static bool equal(const StoredTensor& a, const StoredTensor& b) {
    return a.stored_as == b.stored_as && a.shape == b.shape &&
           std::ranges::equal(a.entries, b.entries, [](const TensorEntry* x, const TensorEntry* y) {
             return std::ranges::equal(x->bytes, y->bytes);
           });
  }

  void list_weights() {
    const Architecture& arch = config_.architecture();
    std::vector<std::string> missing;
    for (const WeightId id : weight_ids(config_)) {
      const std::string name = canonical_name(arch, id);
      const auto it = slices_.find(id);
      if (it == slices_.end()) {
        missing.push_back(name);
        continue;
      }
      const StoredTensor& t = *it->second.tensor;
      const auto shape = config_.shape_of(id.role);
      const int64_t stored = t.slab_elements() * t.slabs();
      int64_t elements = 1;
      for (const int64_t n : shape) elements *= n;
      weights_.push_back({name, id, shape, t.stored_as, t.bytes() * elements / stored});
    }
    CUPEL_CHECK(missing.empty(), data, missing.size(), " tensors are missing, the first is '",
                missing.empty() ? "" : missing.front(), "'; a download may be incomplete");
  }

  std::string folder_;
  std::unique_ptr<Container> container_;
  std::vector<std::unique_ptr<StoredTensor>> tensors_;
  std::map<WeightId, Slice> slices_;
  std::size_t prefix_ = 0;
};

}  // namespace

std::unique_ptr<Checkpoint> open_hf_checkpoint(const std::string& folder) {
  return std::make_unique<HfCheckpoint>(folder);
}

}  // namespace cupel::format
