// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "base/registry.h"
#include "core/pruner.h"

namespace cupel::prune {

/// Every pruning method of this module: the module's table of contents.
void register_methods(Registry<core::Pruner>& registry);

}  // namespace cupel::prune
