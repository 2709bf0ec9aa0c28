// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/allocator.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace cupel::core {
namespace {

constexpr int64_t kCells = int64_t{1} << 18;

int64_t least_bytes(const Ladder& ladder) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Rung& r : ladder.rungs) least = std::min(least, r.bytes);
  return least;
}

/// Bytes of one cell: what all differences between rungs have in common, or the finest grid.
int64_t cell_bytes(const std::vector<Ladder>& ladders, int64_t room) {
  int64_t common = 0;
  for (const Ladder& l : ladders)
    for (const Rung& r : l.rungs) common = std::gcd(common, r.bytes - least_bytes(l));
  return std::max({common, room / kCells + 1, int64_t{1}});
}

}  // namespace

Allocation allocate(const std::vector<Ladder>& ladders, int64_t budget_bytes) {
  int64_t least = 0;
  for (const Ladder& l : ladders) {
    CUPEL_ASSERT(!l.rungs.empty());
    least += least_bytes(l);
  }
  CUPEL_CHECK(budget_bytes >= least, user, "a budget of ", budget_bytes,
              " bytes is too small: the smallest layouts take ", least);
  int64_t widest = 0;
  for (const Ladder& l : ladders) {
    int64_t most = 0;
    for (const Rung& r : l.rungs) most = std::max(most, r.bytes - least_bytes(l));
    widest += most;
  }
  const int64_t room = std::min(budget_bytes - least, widest), cell = cell_bytes(ladders, room);
  const auto cells = static_cast<std::size_t>(room / cell) + 1;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> best(cells, 0.0), next(cells);
  std::vector<std::vector<int16_t>> chosen(ladders.size(), std::vector<int16_t>(cells, -1));
  for (std::size_t l = 0; l < ladders.size(); ++l) {
    std::ranges::fill(next, kNever);
    for (std::size_t r = 0; r < ladders[l].rungs.size(); ++r) {
      const int64_t more = ladders[l].rungs[r].bytes - least_bytes(ladders[l]);
      const auto step = static_cast<std::size_t>((more + cell - 1) / cell);
      for (std::size_t c = step; c < cells; ++c) {
        const double cost = best[c - step] + ladders[l].rungs[r].cost;
        if (!(cost < next[c])) continue;
        next[c] = cost;
        chosen[l][c] = static_cast<int16_t>(r);
      }
    }
    std::swap(best, next);
  }
  Allocation out;
  out.rungs.resize(ladders.size());
  std::size_t at = cells - 1;
  for (std::size_t l = ladders.size(); l-- > 0;) {
    const int r = chosen[l][at];
    CUPEL_ASSERT(r >= 0);
    const Rung& rung = ladders[l].rungs[static_cast<std::size_t>(r)];
    out.rungs[l] = r;
    out.bytes += rung.bytes;
    out.cost += rung.cost;
    at -= static_cast<std::size_t>((rung.bytes - least_bytes(ladders[l]) + cell - 1) / cell);
  }
  return out;
}

}  // namespace cupel::core
