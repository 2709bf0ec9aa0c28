// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/top_tokens.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "eval/softmax.h"

namespace cupel::eval {

namespace {

/// Sorts as "larger logit first, then lower id" when ascending.
uint64_t key_of(float logit, std::size_t id) {
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);  // -0 becomes 0
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(~ascending) << 32 | id;
}

}  // namespace

void TopTokens::select(std::span<const float> logits) {
  keys_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) keys_[i] = key_of(logits[i], i);
  const auto middle = keys_.begin() + static_cast<std::ptrdiff_t>(count_);
  if (middle != keys_.end()) std::nth_element(keys_.begin(), middle, keys_.end());
  std::sort(keys_.begin(), middle);
  ids_.resize(count_);
  for (std::size_t i = 0; i < count_; ++i)
    ids_[i] = static_cast<text::Token>(keys_[i] & 0xFFFFFFFF);
}

TopRow TopTokens::of(std::span<const float> logits, text::Token target) {
  CUPEL_ASSERT(count_ > 0 && count_ <= logits.size());
  CUPEL_ASSERT(target >= 0 && static_cast<std::size_t>(target) < logits.size());
  select(logits);
  terms_.resize(logits.size());
  const float largest = logits[static_cast<std::size_t>(ids_[0])];
  const double mass = exp_shifted(logits, largest, terms_);
  const double lse = static_cast<double>(largest) + std::log(mass);
  const auto log_p = [&](text::Token id) {
    return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(id)]) - lse);
  };
  log_p_.resize(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    log_p_[i] = log_p(ids_[i]);
    terms_[static_cast<std::size_t>(ids_[i])] = 0;
  }
  // log(0) is -infinity: there is no rest.
  const auto log_rest = static_cast<float>(std::log(sum(terms_)) - std::log(mass));
  return {ids_, log_p_, log_rest, log_p(target)};
}

}  // namespace cupel::eval
