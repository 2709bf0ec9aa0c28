// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Tiny checkpoints of many families against logits, hidden states and greedy tokens of another
// implementation, and what happens when one field of theirs is ignored. Skipped where the files are
// not.
#include <ATen/TensorOperators.h>
#include <ATen/ops/logsumexp.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/sampling.h"
#include "format/checkpoint.h"
#include "tiny_model.h"

namespace cupel::core {
namespace {

namespace fs = std::filesystem;
using format::Role;
using Json = nlohmann::ordered_json;

Json read_json(const fs::path& path) {
  return Json::parse(std::ifstream(path));
}

/// The unpacked folders, each a model; empty when the archive is not there.
class TinyModels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* given = std::getenv("CUPEL_SHARED");
    const fs::path shared = given ? fs::path(given) : fs::path(CUPEL_SOURCE_DIR) / ".." / "shared";
    const fs::path archive = shared / "fixtures" / "tiny-models.tar.xz";
    if (!fs::exists(archive)) return;
    folder_ = new TemporaryFolder;
    const std::string command = "tar xJf '" + archive.string() + "' -C '" + *folder_ / "" + "'";
    if (std::system(command.c_str()) != 0) FAIL() << command;
    for (const auto& entry : fs::directory_iterator(*folder_ / "tiny-models"))
      if (entry.is_directory()) names_.push_back(entry.path());
    std::ranges::sort(names_);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
    names_.clear();
  }
  void SetUp() override {
    if (names_.empty()) GTEST_SKIP() << "needs fixtures/tiny-models.tar.xz (set CUPEL_SHARED)";
  }

  static fs::path named(const std::string& name) {
    for (const fs::path& path : names_)
      if (path.filename() == name) return path;
    return {};
  }
  static inline TemporaryFolder* folder_ = nullptr;
  static inline std::vector<fs::path> names_;
  const c10::NoGradGuard no_grad_;
};

at::Tensor ids_of(const Json& list) {
  return at::tensor(list.get<std::vector<int64_t>>(), at::kLong).unsqueeze(0);
}

at::Tensor vector_of(const Json& list) {
  return at::tensor(list.get<std::vector<double>>(), at::kDouble);
}

/// Hidden states as transformers lists them: the embedding, each layer's output, the last one
/// normed.
std::vector<at::Tensor> hidden_states(Model& model, const at::Tensor& ids_nt) {
  std::vector<at::Tensor> out{model.embed(ids_nt)};
  for (int i = 0; i < model.layers(); ++i) out.push_back(model.block(i, out.back()));
  out.back() = model.normalized(out.back());
  return out;
}

double largest(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

void expect_sequence(Model& model, const Json& sequence, const std::string& what) {
  const at::Tensor ids = ids_of(sequence["tokens"]);
  const at::Tensor logits = model.forward(ids)[0];
  EXPECT_LT(largest(logits[-1], vector_of(sequence["last_logits"])), 1e-4) << what;
  const Json& positions = sequence["per_position"];
  const at::Tensor lse = at::logsumexp(logits.to(at::kDouble), {-1});
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const auto at = static_cast<int64_t>(t);
    EXPECT_NEAR(lse[at].item<double>(), positions[t]["lse"].get<double>(), 2e-4) << what;
    const at::Tensor top = at::tensor(positions[t]["top_ids"].get<std::vector<int64_t>>());
    EXPECT_LT(largest(logits[at].index_select(0, top), vector_of(positions[t]["top_logits"])), 2e-4)
        << what << " position " << t;
  }
  const auto hidden = hidden_states(model, ids);
  const Json& expected = sequence["hidden_last"];
  ASSERT_EQ(hidden.size(), expected.size()) << what;
  for (std::size_t i = 0; i < hidden.size(); ++i)
    EXPECT_LT(largest(hidden[i][0][-1], vector_of(expected[i])), 1e-4) << what << " layer " << i;
}

TEST_F(TinyModels, LogitsAndHiddenStatesInBothSpellings) {
  for (const fs::path& path : names_) {
    const Json reference = read_json(path / "reference.json");
    for (const char* config : {"config.json", "config.legacy.json"}) {
      if (!fs::exists(path / config)) continue;
      const TemporaryFolder copy;
      fs::copy(path, copy / "model");
      fs::copy(path / config, copy / "model/config.json", fs::copy_options::overwrite_existing);
      Model model(format::Checkpoint::open(copy / "model"), {});
      for (const auto& [key, sequence] : reference["sequences"].items())
        expect_sequence(model, sequence, path.filename().string() + " " + config + " " + key);
    }
  }
}

TEST_F(TinyModels, GreedyTokensWithACache) {
  for (const fs::path& path : names_) {
    const Json reference = read_json(path / "reference.json");
    const Json& greedy =
        reference.contains("greedy_cached") ? reference["greedy_cached"] : reference["greedy"];
    const Json& tokens = greedy.is_object() ? greedy["tokens"] : greedy;
    if (greedy.is_object() && greedy.value("min_margin", 1.0) < 1e-3) continue;
    Model model(format::Checkpoint::open(path.string()), {});
    const at::Tensor prompt = ids_of(reference["sequences"]["short"]["tokens"]);
    const auto count = static_cast<int64_t>(tokens.size());
    const at::Tensor got = sample(model, prompt, count, 0, Rng(0));
    for (int64_t t = 0; t < count; ++t)
      ASSERT_EQ(got[0][prompt.size(1) + t].item<int64_t>(), tokens[static_cast<std::size_t>(t)])
          << path.filename() << " token " << t;
  }
}

/// A field ignored: an edit of the config's text, or of the model.
struct Ignored {
  const char* model;
  const char* what;
  std::function<void(Json& config)> edit = [](Json&) {};
  std::function<void(Model& model)> change = [](Model&) {};
};

void fill(Model& model, std::initializer_list<Role> roles, double value) {
  for (int i = 0; i < model.layers(); ++i)
    for (const format::WeightId& id : format::layer_weight_ids(model.config(), i))
      if (std::ranges::find(roles, id.role) != roles.end()) model.weight(id).fill_(value);
}

Json& rope(Json& config) {
  return config["rope_parameters"];
}

const std::vector<Ignored> kIgnored = {
    {"llama_gqa_untied", "rms_norm_eps 1e-5->1e-2", [](Json& c) { c["rms_norm_eps"] = 1e-2; }},
    {"llama_gqa_untied", "rope_theta 1e4->5e5", [](Json& c) { rope(c)["rope_theta"] = 5e5; }},
    {"llama_gqa_untied", "hidden_act silu->gelu", [](Json& c) { c["hidden_act"] = "gelu"; }},
    {"llama3_rope_headdim32_tied_sharded", "rope llama3->default",
     [](Json& c) { rope(c)["rope_type"] = "default"; }},
    {"llama3_rope_headdim32_tied_sharded", "rope llama3->linear",
     [](Json& c) {
       rope(c) = {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 5e5}};
     }},
    {"llama_bias_linear_rope_f16", "rope linear->default",
     [](Json& c) { rope(c)["rope_type"] = "default"; }},
    {"llama_bias_linear_rope_f16",
     "biases dropped",
     {},
     [](Model& m) {
       fill(m,
            {Role::query_bias, Role::key_bias, Role::value_bias, Role::output_bias, Role::gate_bias,
             Role::up_bias, Role::down_bias},
            0);
     }},
    {"mistral_swa8_headdim32", "sliding_window 8->none",
     [](Json& c) { c["sliding_window"] = nullptr; }},
    {"mistral_swa8_headdim32", "sliding_window 8->9 (off by one)",
     [](Json& c) { c["sliding_window"] = 9; }},
    {"gemma2_softcap_swa", "attn softcap ignored",
     [](Json& c) { c["attn_logit_softcapping"] = nullptr; }},
    {"gemma2_softcap_swa", "final softcap ignored",
     [](Json& c) { c["final_logit_softcapping"] = nullptr; }},
    {"gemma2_softcap_swa", "query_pre_attn_scalar->head_dim",
     [](Json& c) { c["query_pre_attn_scalar"] = 32; }},
    {"gemma2_softcap_swa", "sliding layers ignored",
     [](Json& c) { c["layer_types"] = Json(3, "full_attention"); }},
    {"gemma3_text_local_global", "query_pre_attn_scalar->head_dim",
     [](Json& c) { c["query_pre_attn_scalar"] = 32; }},
    {"gemma3_text_local_global", "global rope factor ignored",
     [](Json& c) {
       rope(c)["full_attention"] = {{"rope_type", "default"}, {"rope_theta", 1e6}};
     }},
    {"gemma3_text_local_global", "one rope theta for all layers",
     [](Json& c) {
       rope(c) = {{"rope_type", "default"}, {"rope_theta", 1e6}};
       c["rope_local_base_freq"] = 1e6;
     }},
    {"gpt_oss_bf16", "sinks dropped", {}, [](Model& m) { fill(m, {Role::sinks}, -1e30); }},
    {"gpt_oss_bf16", "yarn truncate default", [](Json& c) { rope(c).erase("truncate"); }},
    {"gpt_oss_bf16", "sliding layers ignored",
     [](Json& c) { c["layer_types"] = Json(2, "full_attention"); }},
    {"gpt_oss_bf16", "swiglu_limit ignored", [](Json& c) { c["swiglu_limit"] = 1e9; }},
    {"gpt_oss_bf16", "swiglu_alpha 1.702->1", [](Json& c) { c["swiglu_alpha"] = 1.0; }},
    {"gpt_oss_bf16",
     "router/expert/attention biases dropped",
     {},
     [](Model& m) {
       fill(m,
            {Role::query_bias, Role::key_bias, Role::value_bias, Role::output_bias,
             Role::router_bias, Role::expert_gate_bias, Role::expert_up_bias,
             Role::expert_down_bias},
            0);
     }},
    {"granite_multipliers", "embedding_multiplier ignored",
     [](Json& c) { c["embedding_multiplier"] = 1; }},
    {"granite_multipliers", "attention_multiplier->1/sqrt(d)",
     [](Json& c) { c["attention_multiplier"] = 0.25; }},
    {"granite_multipliers", "residual_multiplier ignored",
     [](Json& c) { c["residual_multiplier"] = 1; }},
    {"granite_multipliers", "logits_scaling ignored", [](Json& c) { c["logits_scaling"] = 1; }},
    {"olmo2_postnorm_fullwidth_qknorm",
     "q/k norm weights ignored",
     {},
     [](Model& m) {
       fill(m, {Role::query_norm, Role::key_norm}, 1);
     }},
    {"olmoe_clip_qkv", "clip_qkv ignored", [](Json& c) { c["clip_qkv"] = nullptr; }},
    {"olmoe_clip_qkv", "norm_topk_prob wrongly on", [](Json& c) { c["norm_topk_prob"] = true; }},
    {"phi3_default_swa", "sliding window ignored", [](Json& c) { c["sliding_window"] = nullptr; }},
    {"qwen2_moe_shared_expert_gate", "norm_topk_prob wrongly on",
     [](Json& c) { c["norm_topk_prob"] = true; }},
    {"qwen2_moe_shared_expert_gate",
     "shared expert dropped",
     {},
     [](Model& m) { fill(m, {Role::shared_down}, 0); }},
    {"qwen2_qkvbias_tied_mixed_window", "sliding window ignored",
     [](Json& c) { c["layer_types"] = Json(3, "full_attention"); }},
    {"qwen2_qkvbias_tied_mixed_window", "window on every layer",
     [](Json& c) { c["layer_types"] = Json(3, "sliding_attention"); }},
    {"qwen2_qkvbias_tied_mixed_window",
     "q/k/v bias dropped",
     {},
     [](Model& m) {
       fill(m, {Role::query_bias, Role::key_bias, Role::value_bias}, 0);
     }},
    {"qwen3_qknorm_headdim32",
     "q/k norm weights ignored",
     {},
     [](Model& m) {
       fill(m, {Role::query_norm, Role::key_norm}, 1);
     }},
    {"smollm3_nope_layers", "rope on every layer",
     [](Json& c) { c["no_rope_layers"] = Json(4, 1); }},
    {"smollm3_nope_layers", "default interval 4",
     [](Json& c) {
       c["no_rope_layers"] = {1, 1, 1, 0};
     }},
    {"deepseek_v3_mla_mtp",
     "e_score_correction_bias dropped",
     {},
     [](Model& m) { fill(m, {Role::router_correction}, 0); }},
    {"deepseek_v3_mla_mtp", "routed_scaling_factor ignored",
     [](Json& c) { c["routed_scaling_factor"] = 1.0; }},
    {"deepseek_v3_mla_mtp", "group limit ignored",
     [](Json& c) { c["n_group"] = c["topk_group"] = 1; }},
    {"deepseek_v3_mla_mtp", "norm_topk_prob ignored", [](Json& c) { c["norm_topk_prob"] = false; }},
    {"deepseek_v3_mla_mtp", "rope_interleave ignored",
     [](Json& c) { c["rope_interleave"] = false; }},
    {"deepseek_v3_mla_mtp",
     "shared experts dropped",
     {},
     [](Model& m) { fill(m, {Role::shared_down}, 0); }},
    {"deepseek_v3_mla_mtp", "mscale_all_dim ignored",
     [](Json& c) { rope(c).erase("mscale_all_dim"); }},
};

/// The largest change of the last position's logits of the long sequence.
double moved(const fs::path& path, const Ignored& ignored) {
  const TemporaryFolder copy;
  fs::copy(path, copy / "model");
  Json config = read_json(path / "config.json");
  if (ignored.edit) ignored.edit(config);
  std::ofstream(copy / "model/config.json") << config.dump();
  Model model(format::Checkpoint::open(copy / "model"), {});
  if (ignored.change) ignored.change(model);
  const Json sequence = read_json(path / "reference.json")["sequences"]["long"];
  return largest(model.forward(ids_of(sequence["tokens"]))[0][-1],
                 vector_of(sequence["last_logits"]));
}

TEST_F(TinyModels, EveryFieldMovesTheLogitsAsRecorded) {
  for (const Ignored& ignored : kIgnored) {
    const fs::path path = named(ignored.model);
    ASSERT_FALSE(path.empty()) << ignored.model;
    const double recorded =
        read_json(path / "reference.json")["sensitivity"][ignored.what].get<double>();
    EXPECT_NEAR(moved(path, ignored), recorded, 2e-3 * recorded + 2e-4)
        << ignored.model << ": " << ignored.what;
  }
}

}  // namespace
}  // namespace cupel::core
