// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <string>

#include "format/weight_code.h"

namespace cupel::export_ {

/// A weight as the artifact stores it.
struct PackedWeight {
  std::string name;
  format::WeightCode code;  ///< without its arrays
  format::Planes planes;
};

/// Packs and checks weights, several at a time, and gives them back in the order they came. What
/// packing throws comes out of next().
class Packer {
 public:
  /// At most `threads` weights are in work, and several only while they are `most_weights` numbers
  /// together: a check holds five bytes for each.
  Packer(int threads, int64_t most_weights) : threads_(threads), most_(most_weights) {}
  bool empty() const { return running_.empty(); }
  /// Whether a weight of so many numbers may be added before next() has been called.
  bool has_room(int64_t weights) const;
  void add(std::string name, format::WeightCode code);
  PackedWeight next();

 private:
  struct Running {
    std::future<PackedWeight> result;
    int64_t weights;
  };
  int threads_;
  int64_t most_, in_work_ = 0;
  std::deque<Running> running_;
};

}  // namespace cupel::export_
