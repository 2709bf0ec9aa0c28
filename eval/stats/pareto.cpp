// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/pareto.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::eval {
namespace {

bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  bool less = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] <= b[i])) return false;
    less |= a[i] < b[i];
  }
  return less;
}

}  // namespace

std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& costs) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    CUPEL_ASSERT(costs[i].size() == costs[0].size());
    const bool known = std::none_of(costs[i].begin(), costs[i].end(),
                                    [](double cost) { return std::isnan(cost); });
    const bool beaten = std::any_of(costs.begin(), costs.end(),
                                    [&](const auto& other) { return beats(other, costs[i]); });
    if (known && !beaten) front.push_back(i);
  }
  return front;
}

}  // namespace cupel::eval
