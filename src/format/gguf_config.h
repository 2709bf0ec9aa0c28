// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

#include "format/gguf.h"

/// The configuration of GGUF models. Internal to this module.
namespace cupel::format {

/// The config.json that a Hugging Face folder of the same model has. Every hyperparameter is used,
/// known to be without effect, or refused by name (Fault::data). What the metadata leave open
/// follows from the tensors that there are (biases, a head of its own, layers with experts), else
/// from what all released models of the family have; `notes` receives what may be worth knowing.
std::string gguf_config_json(const GgufFile& file, std::vector<std::string>& notes);

}  // namespace cupel::format
