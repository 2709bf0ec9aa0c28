// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/parallel.h"

#include <ATen/Parallel.h>

#ifndef INTRA_OP_PARALLEL
#error "compile this file with OpenMP: without it at::parallel_for is a plain loop"
#endif

namespace cupel::core {

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t first, int64_t last)>& f) {
  at::parallel_for(begin, end, grain, f);
}

}  // namespace cupel::core
