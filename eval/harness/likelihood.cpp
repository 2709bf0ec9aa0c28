// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/likelihood.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "eval/divergence.h"
#include "eval/softmax.h"

namespace cupel::eval {

namespace {

/// Requests with one model input.
struct Group {
  Tokens ids;
  std::vector<std::size_t> requests;
  std::vector<Likelihood> sums;
  int64_t from = 0;  // the first row that any of them needs
};

class ScorerLikelihood final : public LikelihoodModel {
 public:
  explicit ScorerLikelihood(text::Scorer& scorer) : scorer_(scorer) {}
  int64_t max_length() const override { return scorer_.max_length(); }
  std::string description() const override { return scorer_.description(); }

  void score(std::span<const Request> requests, const LikelihoodSink& sink) override {
    std::vector<Group> groups = grouped(requests);
    std::vector<text::Scorer::Sequence> sequences;
    for (const Group& g : groups) sequences.push_back({g.ids, g.from});
    scorer_.score_many(sequences, [&](std::size_t index, const text::LogitRows& rows) {
      Group& g = groups[index];
      for (int64_t r = 0; r < rows.rows; ++r) add(g, requests, rows.first + r, rows.row(r));
      if (rows.first + rows.rows < static_cast<int64_t>(g.ids.size())) return;
      for (std::size_t i = 0; i < g.requests.size(); ++i) sink(g.requests[i], g.sums[i]);
    });
  }

 private:
  std::vector<Group> grouped(std::span<const Request> requests) const {
    std::map<Tokens, Group> by_input;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Tokens ids = model_input(requests[i], max_length());
      const auto from =
          static_cast<int64_t>(ids.size()) - static_cast<int64_t>(requests[i].continuation.size());
      Group& g = by_input[ids];
      g.from = g.requests.empty() ? from : std::min(g.from, from);
      g.ids = std::move(ids);
      g.requests.push_back(i);
      g.sums.push_back({0, true});
    }
    std::vector<Group> out;
    for (auto& [ids, group] : by_input) out.push_back(std::move(group));
    return out;
  }

  /// The row at `position` predicts one token of every request that has begun by then.
  void add(Group& g, std::span<const Request> requests, int64_t position,
           std::span<const float> logits) {
    const double total = log_sum_exp(logits);
    const text::Token best = argmax(logits);
    for (std::size_t i = 0; i < g.requests.size(); ++i) {
      const Tokens& continuation = requests[g.requests[i]].continuation;
      const int64_t at = position - (static_cast<int64_t>(g.ids.size()) -
                                     static_cast<int64_t>(continuation.size()));
      if (at < 0) continue;
      const text::Token target = continuation[static_cast<std::size_t>(at)];
      CUPEL_CHECK(target >= 0 && target < static_cast<text::Token>(logits.size()), data, "token ",
                  target, " is not in the vocabulary of ", description());
      g.sums[i].log_prob += static_cast<double>(logits[static_cast<std::size_t>(target)]) - total;
      g.sums[i].greedy = g.sums[i].greedy && target == best;
    }
  }

  text::Scorer& scorer_;
};

}  // namespace

Tokens model_input(const Request& request, int64_t max_length) {
  const auto n = static_cast<int64_t>(request.continuation.size());
  CUPEL_CHECK(n > 0 && n <= max_length, data, "a continuation of ", n,
              " tokens does not fit the model's ", max_length, " positions");
  Tokens ids = request.context;
  ids.insert(ids.end(), request.continuation.begin(), request.continuation.end() - 1);
  const auto length = static_cast<int64_t>(ids.size());
  if (length > max_length) ids.erase(ids.begin(), ids.begin() + (length - max_length));
  return ids;
}

std::unique_ptr<LikelihoodModel> likelihood_of(text::Scorer& scorer) {
  return std::make_unique<ScorerLikelihood>(scorer);
}

}  // namespace cupel::eval
