// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

/// Hyperparameters without effect on the forward pass, after the architecture's prefix.
constexpr std::string_view kHarmless[] = {
    "context_length",
    "tensor_data_layout",
    "pooling_type",
    "attention.causal",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
};
constexpr const char* kRopeDivisors = "rope_freqs.weight";

/// The hyperparameters of a GGUF file, each ticked off as it is used.
class Hyperparameters {
 public:
  Hyperparameters(const GgufFile& file, std::string prefix)
      : file_(file), prefix_(std::move(prefix)) {}

  std::string key(std::string_view name) {
    used_.push_back(cat(prefix_, ".", name));
    return used_.back();
  }
  int64_t integer(std::string_view name, std::optional<int64_t> otherwise = std::nullopt) {
    const std::string k = key(name);
    const auto value = file_.integer(k);
    CUPEL_CHECK(value || otherwise, data, "the key '", k, "' is missing");
    constexpr int64_t kMost = int64_t{1} << 31;
    CUPEL_CHECK(value.value_or(1) >= 1 && value.value_or(1) <= kMost, data, "the key '", k, "' is ",
                *value, ", a positive number expected");
    return value ? *value : *otherwise;
  }
  double real(std::string_view name, double otherwise) {
    const std::string k = key(name);
    const double value = file_.real(k).value_or(otherwise);
    CUPEL_CHECK(value > 0 && std::isfinite(value), data, "the key '", k, "' is ", value,
                ", a positive number expected");
    return value;
  }
  /// Every other hyperparameter could change the result.
  void check_rest() const {
    for (const auto& [k, value] : file_.metadata()) {
      if (!k.starts_with(prefix_ + ".")) continue;
      const std::string_view name = std::string_view(k).substr(prefix_.size() + 1);
      const bool known =
          std::find(used_.begin(), used_.end(), k) != used_.end() ||
          std::find(std::begin(kHarmless), std::end(kHarmless), name) != std::end(kHarmless);
      const bool zero = !value.is_array && value.element != GgufType::string &&
                        std::all_of(value.bytes.begin(), value.bytes.end(),
                                    [](std::byte b) { return b == std::byte{0}; });
      CUPEL_CHECK(known || zero, data, "the key '", k,
                  "' stands for a feature that is not supported");
    }
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
  std::vector<std::string> used_;
};

bool same_frequencies(const Rope& rope, int64_t head_dim, std::span<const float> divisors) {
  Rope plain;
  plain.theta = rope.theta;
  const auto base = rope_frequencies(plain, head_dim), scaled = rope_frequencies(rope, head_dim);
  for (std::size_t i = 0; i < divisors.size(); ++i)
    if (std::abs(base[i] / scaled[i] / static_cast<double>(divisors[i]) - 1) > 1e-5) return false;
  return true;
}

/// Llama 3's scaling reaches GGUF only as one divisor per frequency; the four numbers behind them
/// are found again.
Rope llama3_rope(double theta, int64_t head_dim, const TensorEntry& t) {
  std::vector<float> divisors(static_cast<std::size_t>(head_dim / 2));
  CUPEL_CHECK(t.elements() == head_dim / 2, data, "tensor '", t.name, "' has ", t.elements(),
              " elements, ", head_dim / 2, " expected");
  to_float(t.type, t.bytes, divisors);
  check_finite(divisors, t.name);
  Rope rope;
  rope.theta = theta;
  rope.factor = *std::max_element(divisors.begin(), divisors.end());
  if (rope.factor == 1) return rope;
  rope.type = "llama3";
  for (int64_t positions = 64; positions <= 1 << 20; positions *= 2) {
    rope.original_positions = positions;
    if (rope.factor > 1 && same_frequencies(rope, head_dim, divisors)) return rope;
  }
  fail(Fault::data, "tensor '", t.name,
       "' does not follow Llama 3's rule; this kind of rope "
       "scaling is not supported");
}

class GgufCheckpoint final : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::string& path) : file_(path) {
    file_bytes_ = file_.file_bytes();
    notes_ = file_.notes();
    in_frame(cat("reading '", path, "'"), [&] {
      CUPEL_CHECK(file_.integer("split.count").value_or(1) <= 1, data,
                  "the file is one part of a split model, which is not supported");
      read_config();
      list_weights();
      write_config_json();
      if (std::string note = gguf_tokenizer_note(file_); !note.empty()) notes_.push_back(note);
    });
  }

  void read(std::string_view name, std::span<float> out) const override {
    const Stored& s = stored(name);
    in_frame(cat("reading weight '", name, "' of '", file_.path(), "'"), [&] {
      const TensorEntry& t = *s.tensor;
      CUPEL_CHECK(out.size() == static_cast<std::size_t>(t.elements()), internal, "buffer of ",
                  out.size(), " for ", t.elements(), " elements");
      if (s.permuted_heads == 0)
        to_float(t.type, t.bytes, out);
      else
        read_half_split(t, s.permuted_heads, out);
      check_finite(out, name);
    });
  }
  std::string tokenizer_json() const override { return gguf_tokenizer_json(file_); }
  std::string kind() const override { return file_.kind(); }

  std::string fingerprint() const override {
    Sha256 hash;
    hash.add(config_json_);
    for (const WeightInfo& w : weights_)
      hash.add(cat("\n", w.name, " ", w.stored_as, " ", list_text(w.shape), " ",
                   crc32c(stored(w.name).tensor->bytes)));
    return hash.hex();
  }

 private:
  struct Stored {
    const TensorEntry* tensor;
    int64_t permuted_heads;  ///< 0: rows are in canonical order
  };

  const Stored& stored(std::string_view name) const {
    const auto it = stored_.find(name);
    CUPEL_CHECK(it != stored_.end(), internal, "no weight '", name, "' in '", file_.path(), "'");
    return it->second;
  }

  /// Rows of a head: pairs (2i, 2i+1) in the file, halves (i, i + d/2) in the canonical form.
  static void read_half_split(const TensorEntry& t, int64_t heads, std::span<float> out) {
    const auto rows = static_cast<std::size_t>(t.shape[0]);
    const auto cols = static_cast<std::size_t>(t.shape[1]);
    const std::size_t row_bytes = t.bytes.size() / rows;
    const std::size_t dim = rows / static_cast<std::size_t>(heads), half = dim / 2;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t head = row / dim, at = row % dim;
      const std::size_t target = head * dim + (at % 2) * half + at / 2;
      to_float(t.type, t.bytes.subspan(row * row_bytes, row_bytes),
               out.subspan(target * cols, cols));
    }
  }

  void read_config() {
    const auto name = file_.text("general.architecture");
    CUPEL_CHECK(name, data, "the key 'general.architecture' is missing");
    const Architecture& arch = architecture_of_gguf(*name);
    Hyperparameters keys(file_, *name);
    config_.family = arch.family;
    config_.layers = keys.integer("block_count");
    config_.hidden = keys.integer("embedding_length");
    config_.intermediate = keys.integer("feed_forward_length");
    config_.heads = keys.integer("attention.head_count");
    config_.kv_heads = keys.integer("attention.head_count_kv", config_.heads);
    config_.head_dim = keys.integer("attention.key_length", config_.hidden / config_.heads);
    config_.max_positions = keys.integer("context_length", 2048);
    config_.norm_eps = keys.real("attention.layer_norm_rms_epsilon", arch.default_eps);
    const TensorEntry* embedding = file_.find(gguf_name(arch, {Role::embedding, -1}));
    CUPEL_CHECK(embedding && embedding->shape.size() == 2, data,
                "the embedding ('token_embd.weight') is missing");
    config_.vocab = embedding->shape[0];
    const int64_t claimed = keys.integer("vocab_size", config_.vocab);
    if (claimed != config_.vocab)
      notes_.push_back(cat("vocab_size is ", claimed, ", the embedding has ", config_.vocab,
                           " rows: the latter is used"));
    CUPEL_CHECK(config_.heads % config_.kv_heads == 0 && config_.head_dim % 2 == 0 &&
                    config_.layers <= 100'000 && config_.heads <= 100'000 &&
                    config_.head_dim <= 100'000,
                data, "impossible sizes: ", config_.layers, " layers, ", config_.heads, " heads, ",
                config_.kv_heads, " key/value heads of ", config_.head_dim);
    for (const char* same : {"attention.value_length", "rope.dimension_count"})
      CUPEL_CHECK(keys.integer(same, config_.head_dim) == config_.head_dim, data, "'", same,
                  "' differs from the head size ", config_.head_dim, ": not supported");
    read_rope(keys, arch);
    keys.check_rest();
  }

  void read_rope(Hyperparameters& keys, const Architecture& arch) {
    Rope& rope = config_.rope;
    rope.theta = keys.real("rope.freq_base", arch.default_theta);
    rope.type = file_.text(keys.key("rope.scaling.type")).value_or("none");
    const double old_factor = keys.real("rope.scale_linear", 1);
    rope.factor = keys.real("rope.scaling.factor", old_factor);
    CUPEL_CHECK(rope.type == "none" || rope.type == "linear", data, "rope scaling '", rope.type,
                "' is not supported (known: none, linear)");
    rope.type = rope.factor == 1 ? "default" : "linear";
    if (const TensorEntry* t = file_.find(kRopeDivisors)) {
      CUPEL_CHECK(rope.type == "default", data, "'", kRopeDivisors,
                  "' together with linear rope scaling is not supported");
      rope = llama3_rope(rope.theta, config_.head_dim, *t);
    }
  }

  void list_weights() {
    const Architecture& arch = config_.architecture();
    config_.tied_head = file_.find(gguf_name(arch, {Role::head, -1})) == nullptr;
    for (const WeightId id : weight_ids(arch, config_.layers, config_.tied_head)) {
      const TensorEntry* t = file_.find(gguf_name(arch, id));
      CUPEL_CHECK(t, data, "the tensor '", gguf_name(arch, id), "' is missing");
      const auto shape = config_.shape_of(id.role);
      CUPEL_CHECK(t->shape == shape, data, "tensor '", t->name, "' has the shape ",
                  list_text(t->shape), ", ", list_text(shape), " expected from the metadata");
      CUPEL_CHECK(has_decoder(t->type), data, "tensor '", t->name, "': element type ",
                  traits(t->type).name, " is not supported");
      const std::string name = canonical_name(arch, id);
      const bool permuted =
          arch.gguf_permutes_query_key && (id.role == Role::query || id.role == Role::key);
      const int64_t heads = id.role == Role::key ? config_.kv_heads : config_.heads;
      stored_[name] = {t, permuted ? heads : 0};
      weights_.push_back({name, id, shape, std::string(traits(t->type).name),
                          static_cast<int64_t>(t->bytes.size())});
    }
    for (const TensorEntry& t : file_.tensors()) {
      const auto id = id_of_gguf(arch, t.name);
      CUPEL_CHECK((id && id->layer < config_.layers) || t.name == kRopeDivisors, data, "tensor '",
                  t.name, "' is not part of a ", arch.family, " model of ", config_.layers,
                  " layers; it may belong to a feature that is not supported");
    }
  }

  void write_config_json() {
    nlohmann::ordered_json base = nlohmann::ordered_json::object();
    const Architecture& arch = config_.architecture();
    base["architectures"] = {arch.class_name};
    base["model_type"] = arch.model_types.front();
    for (const char* role : {"bos", "eos"})
      if (const auto id = file_.integer(cat("tokenizer.ggml.", role, "_token_id")))
        base[cat(role, "_token_id")] = *id;
    config_json_ = config_to_json(config_, base.dump());
  }

  GgufFile file_;
  std::map<std::string, Stored, std::less<>> stored_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_gguf_checkpoint(const std::string& path) {
  return std::make_unique<GgufCheckpoint>(path);
}

}  // namespace cupel::format
