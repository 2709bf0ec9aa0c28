// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <vector>

namespace cupel::eval {

/// Indexes, ascending, of the points that no other beats: none is at most as costly in everything
/// and less in something. A row of costs a point, lower is better; equal points are both there. A
/// point with a cost that is not a number is not; rows of different length are an internal error.
std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& costs);

}  // namespace cupel::eval
