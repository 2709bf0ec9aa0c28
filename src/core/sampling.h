// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "base/rng.h"
#include "core/model.h"

namespace cupel::core {

/// One token a row of logits [n, v]: argmax at temperature 0, else a draw from streams[row].
at::Tensor next_tokens(const at::Tensor& logits_nv, double temperature, std::vector<Rng>& streams);

/// Batched sampling with a KV cache: prompts [n, t] of equal length to [n, t + tokens]. Sequence r
/// draws from rng.child(r); temperature 0 is argmax. No truncation of the distribution. Runs
/// without gradients.
at::Tensor sample(Model& model, const at::Tensor& prompts_nt, int64_t tokens, double temperature,
                  const Rng& rng);

}  // namespace cupel::core
