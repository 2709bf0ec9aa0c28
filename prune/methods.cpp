// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "prune/methods.h"

#include "prune/depth.h"

namespace cupel::prune {

void register_methods(Registry<core::Pruner>& registry) {
  registry.add<Depth>("depth",
                      "takes out the decoder layers that change the residual stream least");
}

}  // namespace cupel::prune
