// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "base/registry.h"
#include "core/quantizer.h"

namespace cupel::quant {

/// Every quantization method of this module: the module's table of contents.
void register_methods(Registry<core::Quantizer>& registry);

}  // namespace cupel::quant
