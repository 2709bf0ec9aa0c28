// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "format/gguf_keys.h"

/// Rope parameters of GGUF files. Internal to this module.
namespace cupel::format {

/// Tensors that belong to no layer: divisors of the frequencies.
inline constexpr const char* kRopeDivisors = "rope_freqs.weight";
inline constexpr const char* kLongFactors = "rope_factors_long.weight";
inline constexpr const char* kShortFactors = "rope_factors_short.weight";

struct GgufRopeContext {
  int64_t dims = 0;  ///< dimensions of a head that turn
  int64_t max_positions = 0;
  bool truncate = true;  ///< yarn: borders are whole dimensions (not in the metadata)
};
/// Writes rope_theta, rope_scaling and what goes with them to `json`, a config.json of transformers
/// 4. Fault::data for a type that is not known and for factors that do not fit.
void gguf_rope(GgufKeys& keys, const GgufRopeContext& context, nlohmann::ordered_json& json);

}  // namespace cupel::format
