// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>

#include "core/model.h"
#include "text/scorer.h"

namespace cupel::core {

/// The float model as a Scorer. `model` must outlive it and may change between calls. Many
/// sequences run in batches of similar length, padded on the right (a causal model does not see the
/// padding).
std::unique_ptr<text::Scorer> make_scorer(Model& model, std::string name);

}  // namespace cupel::core
