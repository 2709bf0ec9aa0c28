// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

namespace cupel {

/// Processors that the CPU quota of a control group allows, or 0 for no limit. `membership` is the
/// text of /proc/self/cgroup, `mount` the folder of the hierarchy (/sys/fs/cgroup). Versions 1 and
/// 2; the quotas of all parents count, the smallest wins.
double cgroup_processors(const std::string& membership, const std::string& mount);

}  // namespace cupel
