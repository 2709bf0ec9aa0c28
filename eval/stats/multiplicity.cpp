// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/multiplicity.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace cupel::eval {
namespace {

std::vector<std::size_t> ascending(std::span<const double> p) {
  for (const double value : p)
    CUPEL_CHECK(value >= 0 && value <= 1, internal, "p value ", value, " is no probability");
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] < p[b]; });
  return order;
}

/// From the largest p value down: the smallest of `factor(rank) * p` so far, rank from 1.
template <class Factor>
std::vector<double> step_up(std::span<const double> p, const Factor& factor) {
  std::vector<double> out(p.size());
  const auto order = ascending(p);
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    least = std::min(least, factor(static_cast<double>(rank)) * p[order[rank - 1]]);
    out[order[rank - 1]] = least;
  }
  return out;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
  std::vector<double> out(p.size());
  const auto order = ascending(p);
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, static_cast<double>(order.size() - i) * p[order[i]]);
    out[order[i]] = std::min(most, 1.0);
  }
  return out;
}

std::vector<double> hochberg(std::span<const double> p) {
  const auto tests = static_cast<double>(p.size());
  return step_up(p, [&](double rank) { return tests - rank + 1; });
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  const auto tests = static_cast<double>(p.size());
  return step_up(p, [&](double rank) { return tests / rank; });
}

}  // namespace cupel::eval
