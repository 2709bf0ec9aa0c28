// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "runtime/thread_pool.h"

namespace cupel::runtime {

/// Bytes per second that the pool's threads read from memory together: the best of several passes
/// over a buffer that no cache holds.
double read_bandwidth(ThreadPool& pool);

}  // namespace cupel::runtime
