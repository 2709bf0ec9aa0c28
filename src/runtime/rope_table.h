// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <vector>

#include "format/rope.h"
#include "kernels/cpu.h"
#include "runtime/buffer.h"

namespace cupel::runtime {

/// Cosines and sines of one rotary embedding for the positions of a step.
class RopeTable {
 public:
  RopeTable(const format::Rope& rope, int64_t dims);
  /// Room for the rows of a step; what was there is lost.
  void reserve(int64_t rows);
  /// Rows row .. row + count: positions first .. of a sequence that is `length` long.
  void fill(int64_t row, int64_t first, int64_t count, int64_t length);
  kernels::Rotation at(int64_t t) const;

 private:
  format::Rope rope_;
  int64_t dims_, length_ = 0;
  std::vector<double> frequencies_;
  double magnitude_;
  Buffer<float> cosine_t_, sine_t_;
};

/// Whether keys that were turned when the sequence was `was` long go on serving one that is `now`
/// long. Where the angles grow with the sequence (dynamic), keys keep theirs; where they change at
/// one length (longrope), all keys change there.
bool keys_stay(const format::Rope& rope, int64_t was, int64_t now);

/// True where the angles of a sequence of `length` grow with it, so that a cache depends on the
/// lengths that it went through.
bool angles_grow(const format::Rope& rope, int64_t length);

}  // namespace cupel::runtime
