// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>

namespace cupel::core {

/// Calls f(first, last) for pieces of [begin, end), at least `grain` long unless the range is
/// shorter, on LibTorch's threads (at::set_num_threads); inside such a call it runs on the
/// caller's. What f throws is thrown here. Not at::parallel_for itself: that is serial in files
/// that are compiled without OpenMP.
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t first, int64_t last)>& f);

}  // namespace cupel::core
