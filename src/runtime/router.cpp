// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/router.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cupel::runtime {
namespace {

using format::GroupScore;
using format::Routing;

// Keeps a sum of sigmoids that all underflowed from dividing by zero, as the model was trained.
constexpr float kLeastSum = 1e-20F;

/// The indices of the `count` highest scores, highest first.
void best_of(std::span<const float> scores, int64_t count, std::vector<int64_t>& order) {
  order.resize(scores.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
}

/// What a group is worth: its highest score, or the sum of its two highest.
float group_score(std::span<const float> scores, GroupScore kind) {
  float first = -std::numeric_limits<float>::infinity(), second = first;
  for (const float s : scores) {
    second = std::max(second, std::min(first, s));
    first = std::max(first, s);
  }
  return kind == GroupScore::largest || scores.size() < 2 ? first : first + second;
}

}  // namespace

void Router::mask_groups(std::span<float> scores) {
  if (experts_.group_score == GroupScore::none) return;
  const auto groups = static_cast<std::size_t>(experts_.groups), size = scores.size() / groups;
  // Softmax scores are positive, so that 0 is last; corrected sigmoids may be negative.
  const float masked =
      experts_.routing == Routing::sigmoid ? -std::numeric_limits<float>::infinity() : 0.0F;
  group_scores_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g)
    group_scores_[g] = group_score(scores.subspan(g * size, size), experts_.group_score);
  best_of(group_scores_, experts_.best_groups, group_order_);
  for (std::size_t i = static_cast<std::size_t>(experts_.best_groups); i < groups; ++i)
    std::ranges::fill(scores.subspan(static_cast<std::size_t>(group_order_[i]) * size, size),
                      masked);
}

void Router::choose(std::span<float> logits, std::span<const float> correction,
                    std::span<Choice> chosen) {
  const auto count = static_cast<int64_t>(logits.size());
  if (experts_.routing == Routing::softmax_first) cpu_.softmax(logits.data(), count);
  if (experts_.routing == Routing::sigmoid) cpu_.sigmoid(logits.data(), count);
  scores_.assign(logits.begin(), logits.end());
  for (std::size_t e = 0; e < correction.size(); ++e) scores_[e] += correction[e];
  mask_groups(scores_);
  best_of(scores_, experts_.active, order_);

  weights_.clear();
  for (std::size_t i = 0; i < chosen.size(); ++i)
    weights_.push_back(logits[static_cast<std::size_t>(order_[i])]);
  if (experts_.routing == Routing::best_first) {
    cpu_.softmax(weights_.data(), experts_.active);
  } else if (experts_.renormalise) {
    float sum = std::accumulate(weights_.begin(), weights_.end(), 0.0F);
    if (experts_.routing == Routing::sigmoid) sum += kLeastSum;
    for (float& w : weights_) w /= sum;
  }
  for (std::size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = {order_[i], weights_[i] * static_cast<float>(experts_.scale)};
  std::ranges::sort(chosen, {}, &Choice::expert);
}

}  // namespace cupel::runtime
