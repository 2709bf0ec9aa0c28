// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf_weights.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "format/architecture.h"
#include "format/gguf_rope.h"

namespace cupel::format {
namespace {

/// The two halves of kv_b for each head, {heads, rank, keys} and {heads, values, rank}.
constexpr const char* kKeyPart = "blk.{}.attn_k_b.weight";
constexpr const char* kValuePart = "blk.{}.attn_v_b.weight";

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Elements from `first` on; both ends lie between blocks.
void decode(const TensorEntry& t, int64_t first, std::span<float> out) {
  const ElementTraits& type = traits(t.type);
  const auto bytes_of = [&](std::size_t elements) {
    return elements / static_cast<std::size_t>(type.block) * static_cast<std::size_t>(type.bytes);
  };
  to_float(t.type, t.bytes.subspan(bytes_of(static_cast<std::size_t>(first)), bytes_of(out.size())),
           out);
}

bool is_query(Role role) {
  return role == Role::query || role == Role::query_bias;
}
bool is_key(Role role) {
  return role == Role::key || role == Role::key_bias;
}

/// The number of the block that a tensor belongs to, -1 for none.
int64_t block_of(std::string_view name) {
  int64_t block = -1;
  if (name.starts_with("blk.")) std::from_chars(name.begin() + 4, name.end(), block);
  return block;
}

}  // namespace

GgufWeights::GgufWeights(const GgufFile& file, const ModelConfig& config, int64_t extra_layers,
                         std::vector<std::string>& notes)
    : file_(file), config_(config) {
  for (const WeightId id : weight_ids(config)) {
    const Place place = find(id);
    for (const TensorEntry* t : {place.tensor, place.values}) {
      if (!t) continue;
      CUPEL_CHECK(has_decoder(t->type), data, "tensor '", t->name, "': element type ",
                  traits(t->type).name, " is not supported");
      used_.insert(t);
    }
    places_[id] = place;
  }
  check_rest(extra_layers, notes);
}

const TensorEntry* GgufWeights::named(const char* pattern, WeightId id) const {
  return *pattern == '\0' ? nullptr : file_.find(fill_pattern(pattern, id.layer, id.expert));
}

GgufWeights::Place GgufWeights::find(WeightId id) const {
  if (const Place fused = find_fused(id); fused.tensor) return fused;
  const Architecture& arch = config_.architecture();
  const auto p = std::ranges::find(arch.names, id.role, &NamePattern::role);
  CUPEL_CHECK(p != arch.names.end(), internal, "family ", arch.family, " has no ",
              role_name(id.role));
  const auto shape = config_.shape_of(id.role);
  if (const TensorEntry* t = named(p->gguf, id)) {
    if (!is_expert(id.role)) {
      check_shape(*t, shape);
      return {t};
    }
    auto all = shape;
    all.insert(all.begin(), config_.experts.count);
    check_shape(*t, all);
    return {t, id.expert, config_.experts.count};
  }
  if (const TensorEntry* t = named(p->gguf_other, id)) {
    check_shape(*t, shape);
    return {t};
  }
  if (id.role == Role::kv_b)
    if (const Place place = find_split_kv_b(id); place.tensor) return place;
  fail(Fault::data, "the tensor '", fill_pattern(p->gguf, id.layer, id.expert),
       "' is missing; a download may be incomplete");
}

/// A fused tensor may have the name of a plain one: its shape tells.
GgufWeights::Place GgufWeights::find_fused(WeightId id) const {
  for (const FusedPattern& p : config_.architecture().gguf_fused) {
    const auto part = std::ranges::find(p.parts, id.role);
    const TensorEntry* t = part == p.parts.end() ? nullptr : named(p.stored, id);
    if (!t || t->shape != fused_shape(config_, p)) continue;
    Place place{t};
    for (auto before = p.parts.begin(); before != part; ++before)
      place.begin += config_.shape_of(*before)[0];
    if (!p.of_experts) return place;
    place.slab = id.expert;
    place.slabs = config_.experts.count;
    return place;
  }
  return {};
}

GgufWeights::Place GgufWeights::find_split_kv_b(WeightId id) const {
  const TensorEntry *keys = named(kKeyPart, id), *values = named(kValuePart, id);
  if (!keys && !values) return {};
  CUPEL_CHECK(keys && values, data, "the tensor '",
              fill_pattern(keys ? kValuePart : kKeyPart, id.layer, -1), "' is missing");
  const LowRankAttention& l = config_.low_rank;
  check_shape(*keys, {config_.heads, l.kv_rank, l.nope_dim});
  check_shape(*values, {config_.heads, config_.values_dim(), l.kv_rank});
  return {.tensor = keys, .values = values};
}

void GgufWeights::check_shape(const TensorEntry& t, std::vector<int64_t> shape) const {
  // A router of one row may come as a vector.
  if (shape.size() == 2 && shape[0] == 1 && t.shape.size() == 1) shape.erase(shape.begin());
  CUPEL_CHECK(t.shape == shape, data, "tensor '", t.name, "' has the shape ", list_text(t.shape),
              ", ", list_text(shape), " expected from the metadata");
}

void GgufWeights::check_rest(int64_t extra_layers, std::vector<std::string>& notes) const {
  bool further = false;
  for (const TensorEntry& t : file_.tensors()) {
    if (used_.contains(&t) || t.name == kRopeDivisors || t.name == kLongFactors ||
        t.name == kShortFactors)
      continue;
    const int64_t block = block_of(t.name);
    const bool extra = block >= config_.layers && block < config_.layers + extra_layers;
    CUPEL_CHECK(extra, data, "tensor '", t.name, "' is not part of a ", config_.family,
                " model of ", config_.layers,
                " layers; it may belong to a feature that is not supported");
    further = true;
  }
  if (further) notes.push_back("layers that predict further tokens are not run");
}

std::string GgufWeights::stored_as(WeightId id) const {
  const Place& place = places_.at(id);
  std::string type(traits(place.tensor->type).name);
  if (place.values && place.values->type != place.tensor->type)
    type += cat(" and ", traits(place.values->type).name);
  return type;
}

int64_t GgufWeights::bytes(WeightId id) const {
  const Place& place = places_.at(id);
  const auto size = [](const TensorEntry& t) { return static_cast<int64_t>(t.bytes.size()); };
  if (place.values) return size(*place.tensor) + size(*place.values);
  return size(*place.tensor) * product(config_.shape_of(id.role)) / place.tensor->elements();
}

void GgufWeights::read(WeightId id, std::span<float> out) const {
  const Place& place = places_.at(id);
  CUPEL_CHECK(out.size() == static_cast<std::size_t>(product(config_.shape_of(id.role))), internal,
              "buffer of ", out.size(), " for a weight of shape ",
              list_text(config_.shape_of(id.role)));
  if (place.values)
    read_split_kv_b(place, out);
  else
    read_rows(place, id, out);
  if (config_.architecture().gguf_adds_one && is_norm(id.role))
    for (float& x : out) x -= 1;
}

/// Rows of queries and keys of some families: pairs (2i, 2i + 1) of a head in the file, halves
/// (i, i + dim / 2) in the canonical form.
void GgufWeights::read_rows(const Place& place, WeightId id, std::span<float> out) const {
  const auto shape = config_.shape_of(id.role);
  const int64_t rows = shape[0], cols = shape.size() > 1 ? shape[1] : 1;
  const int64_t first = place.tensor->elements() / place.slabs * place.slab + place.begin * cols;
  const bool turns = is_query(id.role) || is_key(id.role);
  if (!config_.architecture().gguf_permutes_query_key || !turns)
    return decode(*place.tensor, first, out);
  const int64_t dim = config_.head_dim, half = dim / 2;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row % dim, target = row - at + at % 2 * half + at / 2;
    decode(*place.tensor, first + row * cols,
           out.subspan(static_cast<std::size_t>(target * cols), static_cast<std::size_t>(cols)));
  }
}

void GgufWeights::read_split_kv_b(const Place& place, std::span<float> out) const {
  const int64_t rank = config_.low_rank.kv_rank, keys = config_.low_rank.nope_dim;
  const int64_t values = config_.values_dim();
  std::vector<float> turned(static_cast<std::size_t>(rank * keys));
  for (int64_t head = 0; head < config_.heads; ++head) {
    float* target = out.data() + head * (keys + values) * rank;
    decode(*place.tensor, head * rank * keys, turned);
    for (int64_t key = 0; key < keys; ++key)
      for (int64_t r = 0; r < rank; ++r)
        target[key * rank + r] = turned[static_cast<std::size_t>(r * keys + key)];
    decode(*place.values, head * values * rank,
           std::span(target + keys * rank, static_cast<std::size_t>(values * rank)));
  }
}

}  // namespace cupel::format
