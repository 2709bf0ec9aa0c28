// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/pretokenizer.h"

namespace cupel::text {

Behavior read_behavior(const Part& part) {
  const std::string name = part.text("behavior");
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  part.refuse("behavior '" + name + "' is not supported");
}

void Splitter::match(std::size_t start, std::size_t end) {
  if (done_ != start) event(done_, start, invert_);
  event(start, end, !invert_);
  done_ = end;
}

void Splitter::finish() {
  if (done_ != piece_.text.size()) event(done_, piece_.text.size(), invert_);
  flush();
}

void Splitter::flush() {
  if (holds_ && held_end_ > held_start_)
    sink_({piece_.text.substr(held_start_, held_end_ - held_start_),
           piece_.at_start && held_start_ == 0});
  holds_ = false;
}

void Splitter::event(std::size_t start, std::size_t end, bool is_match) {
  bool grows = false;  // the piece that is held takes this stretch too
  switch (behavior_) {
    case Behavior::isolated:
    case Behavior::removed:
      break;
    case Behavior::contiguous:
      grows = is_match == previous_match_;
      break;
    case Behavior::merged_with_previous:
      grows = is_match && !previous_match_;
      break;
    case Behavior::merged_with_next:
      grows = previous_match_ && !is_match;
      break;
  }
  previous_match_ = is_match;
  if (grows && holds_) {
    held_end_ = end;
    return;
  }
  flush();
  held_start_ = start;
  held_end_ = end;
  holds_ = !(behavior_ == Behavior::removed && is_match);
}

}  // namespace cupel::text
