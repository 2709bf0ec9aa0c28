// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/mix.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace cupel::quant {
namespace {

using core::Ladder;
using core::Rung;

constexpr double kNever = std::numeric_limits<double>::infinity();

class Search {
 public:
  Search(std::vector<MixUnit> units, const MixSearch& search, const core::ModelProbe& probe)
      : units_(std::move(units)), search_(search), probe_(probe) {}

  Mix run() {
    if (search_.measured) scale_by_divergence();
    consider(
        search_.couplings.empty()
            ? solve(ladders())
            : core::allocate_coupled(ladders(), search_.budget_bytes, search_.couplings).rungs);
    find_single();
    for (int round = 0; round < search_.rounds; ++round)
      if (!consider(solve(ladders_around(mix_.options)))) break;
    if (search_.guard && mix_.single >= 0 && mix_.divergence_of_single < mix_.divergence) {
      mix_.options.assign(units_.size(), mix_.single);
      mix_.divergence = mix_.divergence_of_single;
      mix_.is_single = true;
    }
    for (std::size_t u = 0; u < units_.size(); ++u) mix_.bytes += rung(u, mix_.options[u]).bytes;
    return std::move(mix_);
  }

 private:
  const Rung& rung(std::size_t unit, int option) const {
    return units_[unit].ladder.rungs[static_cast<std::size_t>(option)];
  }
  std::vector<Ladder> ladders() const {
    std::vector<Ladder> out;
    for (const MixUnit& u : units_) out.push_back(u.ladder);
    return out;
  }
  std::vector<int> solve(const std::vector<Ladder>& ladders) const {
    return core::allocate(ladders, search_.budget_bytes).rungs;
  }

  void replace(std::map<std::string, at::Tensor>& weights, std::size_t unit, int option) const {
    const MixUnit& u = units_[unit];
    for (std::size_t m = 0; m < u.names.size(); ++m)
      weights[u.names[m]] = u.decoded[static_cast<std::size_t>(option)][m];
  }
  double divergence(const std::vector<int>& options) const {
    std::map<std::string, at::Tensor> weights;
    for (std::size_t u = 0; u < units_.size(); ++u) replace(weights, u, options[u]);
    return probe_(weights);
  }

  /// Keeps a mix that diverges less than the best so far.
  bool consider(std::vector<int> options) {
    if (options == mix_.options) return false;
    mix_.tried.push_back(divergence(options));
    if (mix_.tried.size() > 1 && !(mix_.tried.back() < mix_.divergence)) return false;
    mix_.divergence = mix_.tried.back();
    mix_.options = std::move(options);
    return true;
  }

  /// The divergence with one unit alone at its coarsest option gives the cost of a unit of its
  /// error; finer options scale with their error (linear below a few tenths of a nat).
  void scale_by_divergence() {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      auto& rungs = units_[u].ladder.rungs;
      const auto coarsest = std::ranges::max_element(rungs, {}, &Rung::cost);
      if (!(coarsest->cost > 0)) continue;
      std::map<std::string, at::Tensor> weights;
      replace(weights, u, static_cast<int>(coarsest - rungs.begin()));
      const double scale = probe_(weights) / coarsest->cost;
      for (Rung& r : rungs) r.cost *= scale;
    }
  }

  /// The option of least cost that all units together can have.
  void find_single() {
    double least = kNever;
    for (std::size_t o = 0; o < units_.front().ladder.rungs.size(); ++o) {
      int64_t bytes = 0;
      double cost = 0;
      for (std::size_t u = 0; u < units_.size(); ++u) {
        bytes += rung(u, static_cast<int>(o)).bytes;
        cost += rung(u, static_cast<int>(o)).cost;
      }
      if (bytes > search_.budget_bytes || !(cost < least)) continue;
      least = cost;
      mix_.single = static_cast<int>(o);
    }
    if (mix_.single >= 0)
      mix_.divergence_of_single = divergence(std::vector<int>(units_.size(), mix_.single));
  }

  /// The option whose error is next below (finer) or above (coarser) that of `option`.
  std::optional<int> neighbour(std::size_t unit, int option, bool finer) const {
    const auto& rungs = units_[unit].ladder.rungs;
    const double own = rung(unit, option).cost;
    std::optional<int> best;
    for (int o = 0; o < static_cast<int>(rungs.size()); ++o) {
      const double cost = rung(unit, o).cost;
      if (finer ? !(cost < own) : !(cost > own)) continue;
      if (!best || (finer ? cost > rung(unit, *best).cost : cost < rung(unit, *best).cost))
        best = o;
    }
    return best;
  }

  /// What divergence each option would add to that of the mix `at`, by the measured step to each
  /// side; options farther away scale with their error.
  std::vector<Ladder> ladders_around(std::vector<int> at) const {
    std::vector<Ladder> out = ladders();
    const double base = mix_.divergence;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const int own = at[u];
      const double error = rung(u, own).cost;
      double slope[2] = {0, 0};  // coarser, finer: divergence for a unit of error
      for (const bool finer : {false, true}) {
        const auto next = neighbour(u, own, finer);
        if (!next) continue;
        at[u] = *next;
        // A finer option that seems to do harm is noise: it gains nothing.
        slope[finer] = std::max(0.0, (divergence(at) - base) / (rung(u, *next).cost - error));
        at[u] = own;
      }
      for (Rung& r : out[u].rungs) r.cost = (r.cost - error) * slope[r.cost < error];
    }
    return out;
  }

  std::vector<MixUnit> units_;
  MixSearch search_;
  const core::ModelProbe& probe_;
  Mix mix_;
};

}  // namespace

Mix find_mix(std::vector<MixUnit> units, const MixSearch& search, const core::ModelProbe& probe) {
  return Search(std::move(units), search, probe).run();
}

}  // namespace cupel::quant
