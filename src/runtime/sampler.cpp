// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/rng.h"

namespace cupel::runtime {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// A total order: results do not depend on how candidates were collected.
bool better(const std::pair<float, text::Token>& a, const std::pair<float, text::Token>& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

}  // namespace

Sampler::Sampler(const text::SamplingOptions& options) : options_(options) {
  CUPEL_CHECK(options.temperature >= 0 && std::isfinite(options.temperature), user,
              "temperature: a number of at least 0 is needed, not ", options.temperature);
  CUPEL_CHECK(options.repeat_penalty > 0 && std::isfinite(options.repeat_penalty), user,
              "repeat-penalty: a number above 0 is needed, not ", options.repeat_penalty);
  CUPEL_CHECK(!std::isnan(options.top_p) && !std::isnan(options.min_p), user,
              "top-p and min-p: numbers in [0, 1] are needed");
}

text::Token Sampler::pick(std::span<const float> logits, std::span<const text::Token> history) {
  adjust(logits, history);
  const text::Token top = best();
  const float top_score = scores_[static_cast<std::size_t>(top)];
  CUPEL_CHECK(top_score != kExcluded, user, "the logit bias excludes every token");
  if (options_.temperature == 0 || std::isinf(top_score)) return top;
  collect();
  keep_top_p();
  keep_min_p();
  return draw(history.size());
}

void Sampler::adjust(std::span<const float> logits, std::span<const text::Token> history) {
  scores_.assign(logits.begin(), logits.end());
  const auto size = static_cast<text::Token>(scores_.size());
  for (const auto& [token, bias] : options_.bias)
    if (token >= 0 && token < size) scores_[static_cast<std::size_t>(token)] += bias;
  if (options_.repeat_penalty == 1 || options_.repeat_window <= 0) return;
  const auto window = std::min(history.size(), static_cast<std::size_t>(options_.repeat_window));
  const auto recent = history.last(window);
  for (const text::Token token : std::set<text::Token>(recent.begin(), recent.end())) {
    if (token < 0 || token >= size) continue;
    float& score = scores_[static_cast<std::size_t>(token)];
    const auto penalty = static_cast<float>(options_.repeat_penalty);
    score = score > 0 ? score / penalty : score * penalty;
  }
}

text::Token Sampler::best() const {
  return static_cast<text::Token>(std::max_element(scores_.begin(), scores_.end()) -
                                  scores_.begin());
}

void Sampler::collect() {
  candidates_.clear();
  const auto size = static_cast<text::Token>(scores_.size());
  const auto limit =
      options_.top_k > 0
          ? std::min<std::size_t>(static_cast<std::size_t>(options_.top_k), scores_.size())
          : scores_.size();
  // Once `limit` are held, a heap with the worst on top.
  for (text::Token token = 0; token < size; ++token) {
    const float score = scores_[static_cast<std::size_t>(token)];
    if (score == kExcluded) continue;
    if (candidates_.size() < limit) {
      candidates_.emplace_back(score, token);
      if (candidates_.size() == limit && limit < scores_.size())
        std::make_heap(candidates_.begin(), candidates_.end(), better);
    } else if (score > candidates_.front().first) {
      std::pop_heap(candidates_.begin(), candidates_.end(), better);
      candidates_.back() = {score, token};
      std::push_heap(candidates_.begin(), candidates_.end(), better);
    }
  }
  sorted_ = 0;
}

void Sampler::sort_to(std::size_t count) {
  count = std::min(count, candidates_.size());
  if (count <= sorted_) return;
  const auto at = [&](std::size_t i) {
    return candidates_.begin() + static_cast<std::ptrdiff_t>(i);
  };
  std::partial_sort(at(sorted_), at(count), candidates_.end(), better);
  sorted_ = count;
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  sort_to(64);
  const double top = candidates_[0].first;
  double total = 0, reached = 0;
  for (const auto& candidate : candidates_) total += std::exp(candidate.first - top);
  std::size_t count = 0;
  while (count < candidates_.size() && (count == 0 || reached < options_.top_p * total)) {
    if (count == sorted_) sort_to(4 * sorted_);
    reached += std::exp(candidates_[count++].first - top);
  }
  candidates_.resize(count);
  sorted_ = std::min(sorted_, count);
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  sort_to(1);
  const double least = candidates_[0].first + std::log(std::min(options_.min_p, 1.0));
  const auto low = [&](const Candidate& candidate) { return candidate.first < least; };
  const auto kept = std::remove_if(candidates_.begin() + 1, candidates_.end(), low);
  candidates_.erase(kept, candidates_.end());
  sorted_ = std::min(sorted_, candidates_.size());
}

text::Token Sampler::draw(std::size_t position) const {
  // Walked in whatever order the candidates are in: that order follows from the logits alone.
  float top = kExcluded;
  for (const auto& candidate : candidates_) top = std::max(top, candidate.first);
  const auto mass = [&](const Candidate& candidate) {
    return std::exp((static_cast<double>(candidate.first) - top) / options_.temperature);
  };
  double total = 0;
  for (const auto& candidate : candidates_) total += mass(candidate);
  double left = Rng(options_.seed, "sampler").child(position).uniform() * total;
  for (const auto& candidate : candidates_) {
    left -= mass(candidate);
    if (left < 0) return candidate.second;
  }
  return std::max_element(candidates_.begin(), candidates_.end(),
                          [](const auto& a, const auto& b) { return better(b, a); })
      ->second;
}

}  // namespace cupel::runtime
