// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupel::runtime {

/// Finds stop texts in a stream of pieces. What could be the beginning of one is held back until it
/// is known. The result does not depend on how the text is cut into pieces: the stop text that is
/// complete first counts, and of two that end together the longer.
class StopMatcher {
 public:
  /// Fault::user for an empty stop text.
  explicit StopMatcher(std::vector<std::string> stops);
  /// The text that is certain now. After a stop text was found: what came before it, then nothing.
  std::string push(std::string_view piece);
  /// The stream ended: what was held back.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace cupel::runtime
