// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>

#include "core/model.h"
#include "text/generator.h"

namespace cupel::core {

/// The float model as a Generator, one sequence at a time with a KV cache. Draws from the whole
/// distribution or takes the best token: Fault::user for the rest of the sampler chain. `model`
/// must outlive it.
std::unique_ptr<text::Generator> make_generator(Model& model,
                                                std::shared_ptr<const text::Tokenizer> tokenizer);

}  // namespace cupel::core
