// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

namespace cupel {

/// Processors that this process may really use: the affinity mask and the cgroup quota, at least 1.
int usable_processors();

/// Seconds of a monotonic clock.
double now_seconds();

/// Highest resident memory of this process so far, in bytes.
double peak_resident_bytes();

}  // namespace cupel
