// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/cat.h"

namespace cupel {
namespace {

// Of the folder alone; "max" or -1 (no limit) gives 0.
double quota_in(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period)
    return quota > 0 && period > 0 ? quota / period : 0;
  std::ifstream v1_quota(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period && quota > 0 && period > 0) return quota / period;
  return 0;
}

double quota_up_from(const std::string& root, std::string path) {
  double least = 0;
  for (;;) {
    const double here = quota_in(root + path);
    if (here > 0) least = least > 0 ? std::min(least, here) : here;
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool lists_cpu(const std::string& controllers) {
  return cat(",", controllers, ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double cgroup_processors(const std::string& membership, const std::string& mount) {
  double least = 0;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    // hierarchy:controllers:path, no controllers in version 2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    const bool v2 = controllers.empty();
    if (!v2 && !lists_cpu(controllers)) continue;
    const double here = quota_up_from(v2 ? mount : cat(mount, "/cpu"), path);
    if (here > 0) least = least > 0 ? std::min(least, here) : here;
  }
  return least;
}

}  // namespace cupel
