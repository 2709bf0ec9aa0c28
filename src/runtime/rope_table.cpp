// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/rope_table.h"

#include <cmath>

namespace cupel::runtime {

RopeTable::RopeTable(const format::Rope& rope, int64_t dims)
    : rope_(rope),
      dims_(dims),
      frequencies_(format::rope_frequencies(rope, dims)),
      magnitude_(format::rope_magnitude(rope)) {}

void RopeTable::reserve(int64_t rows) {
  cosine_t_.reserve(rows * (dims_ / 2));
  sine_t_.reserve(rows * (dims_ / 2));
}

void RopeTable::fill(int64_t row, int64_t first, int64_t count, int64_t length) {
  if (length != length_ && format::rope_depends_on_length(rope_))
    frequencies_ = format::rope_frequencies(rope_, dims_, length);
  length_ = length;
  float* cosine = cosine_t_.get() + row * (dims_ / 2);
  float* sine = sine_t_.get() + row * (dims_ / 2);
  for (int64_t t = 0; t < count; ++t)
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(first + t) * frequency;
      *cosine++ = static_cast<float>(std::cos(angle) * magnitude_);
      *sine++ = static_cast<float>(std::sin(angle) * magnitude_);
    }
}

kernels::Rotation RopeTable::at(int64_t t) const {
  const int64_t at = t * (dims_ / 2);
  return {cosine_t_.get() + at, sine_t_.get() + at, dims_, rope_.interleaved};
}

bool keys_stay(const format::Rope& rope, int64_t was, int64_t now) {
  return rope.type != "longrope" ||
         (was > rope.original_positions) == (now > rope.original_positions);
}

bool angles_grow(const format::Rope& rope, int64_t length) {
  return rope.type == "dynamic" && length > rope.original_positions;
}

}  // namespace cupel::runtime
