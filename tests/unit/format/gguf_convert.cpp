// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "gguf_convert.h"

#include <cmath>
#include <set>
#include <stdexcept>

namespace cupel::test {
namespace {

using format::ModelConfig;
using format::Role;
using Values = std::vector<float>;

const std::map<std::string, std::string> kArchs = {
    {"llama", "llama"},           {"mistral", "llama"},      {"mixtral", "llama"},
    {"qwen2", "qwen2"},           {"qwen2_moe", "qwen2moe"}, {"qwen3", "qwen3"},
    {"qwen3_moe", "qwen3moe"},    {"gemma", "gemma"},        {"gemma2", "gemma2"},
    {"gemma3_text", "gemma3"},    {"phi3", "phi3"},          {"smollm3", "smollm3"},
    {"olmo2", "olmo2"},           {"olmoe", "olmoe"},        {"granite", "granite"},
    {"granitemoe", "granitemoe"}, {"gpt_oss", "gpt-oss"},    {"deepseek_v2", "deepseek2"},
    {"deepseek_v3", "deepseek2"},
};
const std::set<std::string> kPermuted = {"llama", "granite", "granitemoe", "smollm3"};

/// Behind "blk.N."; experts are the stacked form.
const std::map<Role, std::string> kInBlock = {
    {Role::attention_norm, "attn_norm.weight"},
    {Role::query, "attn_q.weight"},
    {Role::key, "attn_k.weight"},
    {Role::value, "attn_v.weight"},
    {Role::output, "attn_output.weight"},
    {Role::query_bias, "attn_q.bias"},
    {Role::key_bias, "attn_k.bias"},
    {Role::value_bias, "attn_v.bias"},
    {Role::output_bias, "attn_output.bias"},
    {Role::query_norm, "attn_q_norm.weight"},
    {Role::key_norm, "attn_k_norm.weight"},
    {Role::sinks, "attn_sinks.weight"},
    {Role::query_a, "attn_q_a.weight"},
    {Role::query_a_norm, "attn_q_a_norm.weight"},
    {Role::query_b, "attn_q_b.weight"},
    {Role::kv_a, "attn_kv_a_mqa.weight"},
    {Role::kv_a_norm, "attn_kv_a_norm.weight"},
    {Role::kv_b, "attn_kv_b.weight"},
    {Role::post_attention_norm, "post_attention_norm.weight"},
    {Role::mlp_norm, "ffn_norm.weight"},
    {Role::post_mlp_norm, "post_ffw_norm.weight"},
    {Role::gate, "ffn_gate.weight"},
    {Role::up, "ffn_up.weight"},
    {Role::down, "ffn_down.weight"},
    {Role::gate_bias, "ffn_gate.bias"},
    {Role::up_bias, "ffn_up.bias"},
    {Role::down_bias, "ffn_down.bias"},
    {Role::router, "ffn_gate_inp.weight"},
    {Role::router_bias, "ffn_gate_inp.bias"},
    {Role::router_correction, "exp_probs_b.bias"},
    {Role::expert_gate, "ffn_gate_exps.weight"},
    {Role::expert_up, "ffn_up_exps.weight"},
    {Role::expert_down, "ffn_down_exps.weight"},
    {Role::expert_gate_bias, "ffn_gate_exps.bias"},
    {Role::expert_up_bias, "ffn_up_exps.bias"},
    {Role::expert_down_bias, "ffn_down_exps.bias"},
    {Role::shared_gate, "ffn_gate_shexp.weight"},
    {Role::shared_up, "ffn_up_shexp.weight"},
    {Role::shared_down, "ffn_down_shexp.weight"},
    {Role::shared_router, "ffn_gate_inp_shexp.weight"},
};

std::string name_of(const std::string& arch, format::WeightId id) {
  if (id.role == Role::embedding) return "token_embd.weight";
  if (id.role == Role::final_norm) return "output_norm.weight";
  if (id.role == Role::head) return "output.weight";
  std::string tail = kInBlock.at(id.role);
  if (arch == "gpt-oss" && id.role == Role::mlp_norm) tail = "post_attention_norm.weight";
  return "blk." + std::to_string(id.layer) + "." + tail;
}

/// Per head [2, d / 2] to [d / 2, 2].
Values permuted(const Values& w, int64_t heads, int64_t rows) {
  const int64_t dim = rows / heads, cols = static_cast<int64_t>(w.size()) / rows;
  Values out;
  out.reserve(w.size());
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t pair = 0; pair < dim / 2; ++pair)
      for (int64_t part = 0; part < 2; ++part) {
        const int64_t row = head * dim + part * (dim / 2) + pair;
        out.insert(out.end(), w.begin() + row * cols, w.begin() + (row + 1) * cols);
      }
  return out;
}

class Writer {
 public:
  Writer(const format::Checkpoint& model, const GgufOptions& options)
      : model_(model), c_(model.config()), options_(options) {
    out_.arch = kArchs.at(c_.family);
    out_.keys.text("general.architecture", out_.arch);
  }

  GgufModel write() {
    sizes();
    windows();
    rope();
    experts();
    particular();
    for (const format::WeightInfo& w : model_.weights()) weight(w);
    for (auto& [name, values] : stacked_) add(name, shapes_.at(name), values);
    return std::move(out_);
  }

 private:
  void u32(const std::string& key, int64_t value) {
    out_.keys.u32(out_.arch + "." + key, static_cast<uint32_t>(value));
  }
  void f32(const std::string& key, double value) {
    out_.keys.f32(out_.arch + "." + key, static_cast<float>(value));
  }
  void text(const std::string& key, const std::string& value) {
    out_.keys.text(out_.arch + "." + key, value);
  }
  bool is(const std::string& family) const { return c_.family == family; }

  void sizes() {
    u32("block_count", c_.layers);
    u32("context_length", c_.max_positions);
    u32("embedding_length", c_.hidden);
    u32("feed_forward_length", c_.intermediate);
    u32("attention.head_count", c_.heads);
    f32("attention.layer_norm_rms_epsilon", c_.norm_eps);
    if (c_.is_low_rank()) return low_rank();
    u32("attention.head_count_kv", c_.kv_heads);
    if (c_.head_dim != c_.hidden / c_.heads) {
      u32("attention.key_length", c_.head_dim);
      u32("attention.value_length", c_.head_dim);
    }
    u32("rope.dimension_count", c_.rope_dims(c_.rope));
  }

  void low_rank() {
    const format::LowRankAttention& l = c_.low_rank;
    const int64_t key = l.nope_dim + l.rope_dim;
    u32("attention.head_count_kv", options_.old_forms ? c_.heads : 1);
    if (l.query_rank > 0) u32("attention.q_lora_rank", l.query_rank);
    u32("attention.kv_lora_rank", l.kv_rank);
    u32("attention.key_length", options_.old_forms ? key : l.kv_rank + l.rope_dim);
    u32("attention.value_length", options_.old_forms ? c_.values_dim() : l.kv_rank);
    u32("rope.dimension_count", l.rope_dim);
    if (options_.old_forms) return;
    u32("attention.key_length_mla", key);
    u32("attention.value_length_mla", c_.values_dim());
  }

  void windows() {
    int64_t window = 0;
    std::string pattern = raw(uint32_t{7}) + raw(static_cast<uint64_t>(c_.layers));
    for (const format::LayerKind& kind : c_.kinds) {
      window = std::max(window, kind.window);
      pattern += static_cast<char>(kind.window > 0);
    }
    if (window == 0) {
      if (is("phi3")) u32("attention.sliding_window", 0);
      return;
    }
    u32("attention.sliding_window", window);
    const bool usual = options_.usual_windows;
    for (std::size_t i = 0; i < c_.kinds.size(); ++i)
      if (!usual && (c_.kinds[i].window > 0) != usually_slides(i)) {
        out_.keys.value(out_.arch + ".attention.sliding_window_pattern", 9, pattern);
        break;
      }
  }

  /// What programs assume where the file has no pattern.
  bool usually_slides(std::size_t layer) const {
    if (is("gemma2") || is("gpt_oss")) return layer % 2 == 0;
    if (is("gemma3_text")) return (layer + 1) % 6 != 0;
    return true;
  }

  void rope() {
    const format::Rope& r = c_.rope;
    f32("rope.freq_base", r.theta);
    if (r.type == "linear" || r.type == "yarn") {
      text("rope.scaling.type", r.type);
      f32("rope.scaling.factor", r.factor);
    }
    if (r.type == "yarn" || is("phi3"))
      u32("rope.scaling.original_context_length",
          r.type == "default" ? 4096 : r.original_positions);
    if (r.type == "yarn") {
      f32("rope.scaling.yarn_beta_fast", r.beta_fast);
      f32("rope.scaling.yarn_beta_slow", r.beta_slow);
      if (r.mscale_all_dim > 0) f32("rope.scaling.yarn_log_multiplier", 0.1 * r.mscale_all_dim);
    }
    if (r.type == "llama3") rope_divisors();
    if (r.type != "longrope") return;
    f32("rope.scaling.attn_factor", rope_magnitude(r));
    const auto factors = [&](const std::string& name, const std::vector<double>& f) {
      add(name, {static_cast<int64_t>(f.size())}, Values(f.begin(), f.end()));
    };
    factors("rope_factors_long.weight", r.long_factor);
    factors("rope_factors_short.weight", r.short_factor);
  }

  void rope_divisors() {
    format::Rope plain;
    plain.theta = c_.rope.theta;
    const auto base = rope_frequencies(plain, c_.head_dim);
    const auto scaled = rope_frequencies(c_.rope, c_.head_dim);
    Values divisors;
    for (std::size_t i = 0; i < base.size(); ++i)
      divisors.push_back(static_cast<float>(base[i] / scaled[i]));
    add("rope_freqs.weight", {static_cast<int64_t>(divisors.size())}, divisors);
  }

  void experts() {
    const format::Experts& e = c_.experts;
    if (e.count == 0) return;
    u32("expert_count", e.count);
    u32("expert_used_count", e.active);
    if (!is("mixtral") && !is("olmoe") && !is("granitemoe"))
      u32("expert_feed_forward_length", e.width);
    if (is("qwen2_moe")) u32("expert_shared_feed_forward_length", e.shared_width);
    if (!c_.is_low_rank()) return;
    int64_t dense = 0;
    while (!c_.kind(static_cast<int>(dense)).sparse) ++dense;
    u32("leading_dense_block_count", dense);
    u32("expert_shared_count", e.shared_width / e.width);
    f32("expert_weights_scale", e.scale);
    if (e.renormalise) out_.keys.flag(out_.arch + ".expert_weights_norm", true);
    u32("expert_gating_func", e.routing == format::Routing::sigmoid ? 2 : 1);
    u32("expert_group_count", e.groups);
    u32("expert_group_used_count", e.best_groups);
  }

  void particular() {
    if (is("gemma2")) {
      f32("attn_logit_softcapping", c_.score_cap);
      f32("final_logit_softcapping", c_.logit_cap);
    }
    if (is("gemma2") || is("gemma3_text")) f32("attention.scale", c_.score_scale);
    if (c_.clip_qkv > 0) f32("attention.clamp_kqv", c_.clip_qkv);
    if (is("granite") || is("granitemoe")) {
      f32("attention.scale", c_.score_scale);
      f32("embedding_scale", c_.embedding_scale);
      f32("residual_scale", c_.residual_scale);
      f32("logit_scale", c_.logit_divisor);
    }
  }

  void weight(const format::WeightInfo& w) {
    std::size_t count = 1;
    for (const int64_t n : w.shape) count *= static_cast<std::size_t>(n);
    Values values(count);
    model_.read(w.name, values);
    const Role role = w.id.role;
    const bool of_query = role == Role::query || role == Role::query_bias;
    const bool of_key = role == Role::key || role == Role::key_bias;
    if (kPermuted.contains(out_.arch) && (of_query || of_key))
      values = permuted(values, of_query ? c_.heads : c_.kv_heads, w.shape[0]);
    const std::string name = name_of(out_.arch, w.id);
    if (out_.arch.starts_with("gemma") && name.ends_with("norm.weight"))
      for (float& x : values) x += 1;
    const std::string block = name.substr(0, name.rfind('.', name.rfind('.') - 1) + 1);
    if (is("phi3") && (of_query || of_key || role == Role::value))
      return stack(block + "attn_qkv.weight", w.shape, values, -1);
    if (is("phi3") && (role == Role::gate || role == Role::up))
      return stack(block + "ffn_up.weight", w.shape, values, -1);
    if (role == Role::kv_b && !options_.old_forms) return split_kv_b(block, values);
    if (w.id.expert < 0) return add(name, w.shape, values);
    if (!options_.old_forms || out_.arch != "llama")
      return stack(name, w.shape, values, w.id.expert);
    const std::string kind = name.substr(block.size(), name.find("_exps") - block.size());
    add(block + kind + "." + std::to_string(w.id.expert) + ".weight", w.shape, values);
  }

  /// Appends to a tensor that several weights share: rows, or experts as a first axis.
  void stack(const std::string& name, std::vector<int64_t> shape, const Values& values,
             int expert) {
    Values& all = stacked_[name];
    all.insert(all.end(), values.begin(), values.end());
    if (expert >= 0) shape.insert(shape.begin(), 0);
    const int64_t rows = expert >= 0 ? 1 : shape[0];
    const auto known = shapes_.find(name);
    shape[0] = rows + (known == shapes_.end() ? 0 : known->second[0]);
    shapes_[name] = shape;
  }

  void split_kv_b(const std::string& block, const Values& w) {
    const int64_t nope = c_.low_rank.nope_dim, v = c_.values_dim(), rank = c_.low_rank.kv_rank;
    Values keys, values;
    for (int64_t head = 0; head < c_.heads; ++head) {
      const int64_t first = head * (nope + v);
      for (int64_t r = 0; r < rank; ++r)
        for (int64_t k = 0; k < nope; ++k)
          keys.push_back(w[static_cast<std::size_t>((first + k) * rank + r)]);
      values.insert(values.end(), w.begin() + (first + nope) * rank,
                    w.begin() + (first + nope + v) * rank);
    }
    add(block + "attn_k_b.weight", {c_.heads, rank, nope}, keys);
    add(block + "attn_v_b.weight", {c_.heads, v, rank}, values);
  }

  void add(const std::string& name, const std::vector<int64_t>& shape, const Values& values) {
    out_.tensors.push_back({name, shape, 0, raw_floats(values)});
  }

  const format::Checkpoint& model_;
  const ModelConfig& c_;
  GgufOptions options_;
  GgufModel out_;
  std::map<std::string, Values> stacked_;
  std::map<std::string, std::vector<int64_t>> shapes_;
};

}  // namespace

GgufModel to_gguf(const format::Checkpoint& model, const GgufOptions& options) {
  return Writer(model, options).write();
}

void add_tensor(GgufBuilder& builder, const GgufTensor& t) {
  builder.tensor(t.name, std::vector<uint64_t>(t.shape.rbegin(), t.shape.rend()), t.type, t.data);
}

void GgufModel::replace(GgufTensor tensor) {
  for (GgufTensor& t : tensors)
    if (t.name == tensor.name) {
      t = std::move(tensor);
      return;
    }
  throw std::out_of_range(tensor.name);
}

std::string GgufModel::bytes() const {
  GgufBuilder builder = keys;
  for (const GgufTensor& t : tensors) add_tensor(builder, t);
  return builder.bytes();
}

}  // namespace cupel::test
