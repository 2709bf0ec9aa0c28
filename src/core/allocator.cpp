// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/allocator.h"

#include <algorithm>
#include <cmath>
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

/// Positions of the first rung of each ladder in a list of all rungs, and the number of rungs.
std::vector<std::size_t> rung_positions(const std::vector<Ladder>& ladders) {
  std::vector<std::size_t> first = {0};
  for (const Ladder& l : ladders) first.push_back(first.back() + l.rungs.size());
  return first;
}

/// Improves a choice of rungs by exchanges.
class Exchange {
 public:
  Exchange(const std::vector<Ladder>& ladders, int64_t budget_bytes,
           std::span<const float> couplings, Allocation& choice)
      : ladders_(ladders),
        couplings_(couplings),
        first_(rung_positions(ladders)),
        room_(budget_bytes - choice.bytes),
        choice_(choice),
        field_(first_.back(), 0.0) {
    for (std::size_t l = 0; l < ladders.size(); ++l) add_field(at(l), 1);
  }

  /// The best exchange of one rung or two, if one helps.
  bool step() {
    Move best;
    for (std::size_t l = 0; l < ladders_.size(); ++l)
      for (std::size_t r = 0; r < ladders_[l].rungs.size(); ++r) {
        const Move one = move(l, r);
        consider(one, best);
        for (std::size_t m = 0; m < l; ++m)
          for (std::size_t s = 0; s < ladders_[m].rungs.size(); ++s) {
            const std::size_t a = first_[l] + r, b = first_[m] + s;
            Move both = move(m, s);
            both.ladders[1] = l;
            both.rungs[1] = r;
            both.bytes += one.bytes;
            both.cost += one.cost + of(a, b) - of(a, at(m)) - of(at(l), b) + of(at(l), at(m));
            consider(both, best);
          }
      }
    if (best.ladders[0] == kNone) return false;
    apply(best);
    return true;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Move {
    std::size_t ladders[2] = {kNone, kNone}, rungs[2] = {0, 0};
    int64_t bytes = 0;
    double cost = 0;  ///< both: what the move adds
  };

  double of(std::size_t a, std::size_t b) const {
    return static_cast<double>(couplings_[a * first_.back() + b]);
  }
  /// Position of the rung that a ladder has.
  std::size_t at(std::size_t l) const {
    return first_[l] + static_cast<std::size_t>(choice_.rungs[l]);
  }
  const Rung& rung(std::size_t l) const {
    return ladders_[l].rungs[static_cast<std::size_t>(choice_.rungs[l])];
  }
  Move move(std::size_t l, std::size_t r) const {
    const Rung& to = ladders_[l].rungs[r];
    const double own = of(at(l), at(l)), other = of(first_[l] + r, at(l));
    return {
        .ladders = {l, kNone},
        .rungs = {r, 0},
        .bytes = to.bytes - rung(l).bytes,
        .cost = to.cost - rung(l).cost + (field_[first_[l] + r] - other) - (field_[at(l)] - own)};
  }
  void consider(const Move& m, Move& best) const {
    if (m.bytes <= room_ && m.cost < best.cost - kLeastGain * std::abs(choice_.cost)) best = m;
  }
  /// Adds what a chosen rung costs with each other rung.
  void add_field(std::size_t chosen, double sign) {
    for (std::size_t k = 0; k < field_.size(); ++k) field_[k] += sign * of(chosen, k);
  }
  void apply(const Move& m) {
    for (int side = 0; side < 2; ++side) {
      const std::size_t l = m.ladders[side];
      if (l == kNone) continue;
      add_field(at(l), -1);
      choice_.rungs[l] = static_cast<int>(m.rungs[side]);
      add_field(at(l), 1);
    }
    choice_.bytes += m.bytes;
    choice_.cost += m.cost;
    room_ -= m.bytes;
  }

  // Smaller gains are rounding errors of the fields.
  static constexpr double kLeastGain = 1e-9;

  const std::vector<Ladder>& ladders_;
  std::span<const float> couplings_;
  std::vector<std::size_t> first_;
  int64_t room_;
  Allocation& choice_;
  std::vector<double> field_;  ///< of each rung: couplings to the rungs that all ladders have
};

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

double cost_of(const std::vector<Ladder>& ladders, std::span<const float> couplings,
               const std::vector<int>& rungs) {
  const std::vector<std::size_t> first = rung_positions(ladders);
  double cost = 0;
  for (std::size_t l = 0; l < ladders.size(); ++l) {
    const auto own = static_cast<std::size_t>(rungs[l]);
    cost += ladders[l].rungs[own].cost;
    for (std::size_t m = 0; m < l && !couplings.empty(); ++m)
      cost += static_cast<double>(couplings[(first[l] + own) * first.back() + first[m] +
                                            static_cast<std::size_t>(rungs[m])]);
  }
  return cost;
}

Allocation allocate_coupled(const std::vector<Ladder>& ladders, int64_t budget_bytes,
                            std::span<const float> couplings) {
  Allocation out = allocate(ladders, budget_bytes);
  CUPEL_ASSERT(couplings.size() == rung_positions(ladders).back() * rung_positions(ladders).back());
  out.cost = cost_of(ladders, couplings, out.rungs);
  Exchange exchange(ladders, budget_bytes, couplings, out);
  while (exchange.step()) {
  }
  out.cost = cost_of(ladders, couplings, out.rungs);
  return out;
}

}  // namespace cupel::core
