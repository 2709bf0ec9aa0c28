// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace cupel::runtime {
namespace {

/// Length of the longest end of `text` that begins `stop` without being all of it.
std::size_t partial_match(std::string_view text, std::string_view stop) {
  for (std::size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n)
    if (text.ends_with(stop.substr(0, n))) return n;
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const auto& stop : stops_)
    CUPEL_CHECK(!stop.empty(), user, "stop: a stop text must not be empty");
}

std::string StopMatcher::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  std::size_t begin = std::string::npos, end = std::string::npos;
  for (const auto& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const std::size_t to = at + stop.size();
    if (to > end || (to == end && at > begin)) continue;
    begin = at;
    end = to;
  }
  stopped_ = end != std::string::npos;
  std::size_t keep = 0;
  if (!stopped_)
    for (const auto& stop : stops_) keep = std::max(keep, partial_match(held_, stop));
  std::string certain = held_.substr(0, stopped_ ? begin : held_.size() - keep);
  held_.erase(0, stopped_ ? held_.size() : certain.size());
  return certain;
}

std::string StopMatcher::finish() {
  return std::exchange(held_, {});
}

}  // namespace cupel::runtime
