// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/scorer.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cupel::text {

std::vector<std::size_t> token_order(std::span<const Scorer::Sequence> sequences) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto x = sequences[a].ids, y = sequences[b].ids;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  });
  return order;
}

void Scorer::score_many(std::span<const Sequence> sequences,
                        const std::function<void(std::size_t, const LogitRows&)>& sink) {
  for (const std::size_t i : token_order(sequences))
    score(sequences[i].ids, sequences[i].from, [&](const LogitRows& rows) { sink(i, rows); });
}

}  // namespace cupel::text
