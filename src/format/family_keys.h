// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/architecture.h"
#include "format/config_keys.h"

/// The keys of each family's config.json, with the defaults of its class in transformers. Internal
/// to this module.
namespace cupel::format {

void llama_keys(ConfigKeys& k, ModelConfig& c);
void mistral_keys(ConfigKeys& k, ModelConfig& c);
void mixtral_keys(ConfigKeys& k, ModelConfig& c);
void qwen2_keys(ConfigKeys& k, ModelConfig& c);
void qwen3_keys(ConfigKeys& k, ModelConfig& c);
void qwen2_moe_keys(ConfigKeys& k, ModelConfig& c);
void qwen3_moe_keys(ConfigKeys& k, ModelConfig& c);
void gemma_keys(ConfigKeys& k, ModelConfig& c);
void gemma2_keys(ConfigKeys& k, ModelConfig& c);
void gemma3_keys(ConfigKeys& k, ModelConfig& c);
void phi3_keys(ConfigKeys& k, ModelConfig& c);
void smollm3_keys(ConfigKeys& k, ModelConfig& c);
void olmo2_keys(ConfigKeys& k, ModelConfig& c);
void olmoe_keys(ConfigKeys& k, ModelConfig& c);
void granite_keys(ConfigKeys& k, ModelConfig& c);
void granite_moe_keys(ConfigKeys& k, ModelConfig& c);
void gpt_oss_keys(ConfigKeys& k, ModelConfig& c);
void deepseek_v2_keys(ConfigKeys& k, ModelConfig& c);
void deepseek_v3_keys(ConfigKeys& k, ModelConfig& c);

}  // namespace cupel::format
