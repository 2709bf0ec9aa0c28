// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "base/registry.h"
#include "core/train/trainable.h"

namespace cupel::distill {

/// `train.*` (from text) and `distill.*` (from a teacher): the module's table of contents.
void register_train_methods(Registry<core::train::Trainable>& registry);
void register_distill_methods(Registry<core::train::Trainable>& registry);

}  // namespace cupel::distill
