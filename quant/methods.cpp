// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/methods.h"

namespace cupel::quant {

void add_rtn(Registry<core::Quantizer>& registry);
void add_gptq(Registry<core::Quantizer>& registry);
void add_auto(Registry<core::Quantizer>& registry);
void add_tile(Registry<core::Quantizer>& registry);
void add_annealed(Registry<core::Quantizer>& registry);
void add_hqq(Registry<core::Quantizer>& registry);
void add_sign_round(Registry<core::Quantizer>& registry);
void add_unified(Registry<core::Quantizer>& registry);

void register_methods(Registry<core::Quantizer>& registry) {
  add_rtn(registry);
  add_gptq(registry);
  add_auto(registry);
  add_tile(registry);
  add_annealed(registry);
  add_hqq(registry);
  add_sign_round(registry);
  add_unified(registry);
}

}  // namespace cupel::quant
