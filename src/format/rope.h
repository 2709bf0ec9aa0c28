// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::format {

/// Rotary position embedding. `type` is one of default, linear, dynamic, llama3, yarn, longrope
/// (formulas in rope.cpp).
struct Rope {
  std::string type = "default";
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  ///< llama3
  int64_t original_positions = 0;                    ///< the context before it was stretched
  int64_t dim = 0;                        ///< dimensions of a head that turn; 0: all of them
  bool interleaved = false;               ///< pairs (2i, 2i+1) instead of the halves (i, i + dim/2)
  double beta_fast = 32, beta_slow = 1;   ///< yarn
  bool truncate = true;                   ///< yarn: its borders are whole dimensions
  double mscale = 0, mscale_all_dim = 0;  ///< yarn as DeepSeek has it
  std::optional<double> attention_factor;         ///< yarn, longrope: instead of the formula
  std::vector<double> short_factor, long_factor;  ///< longrope, per pair
  friend bool operator==(const Rope&, const Rope&) = default;
};

/// Fault::data for an unknown type.
void check_rope_type(const std::string& type);
/// Angle per position of each pair, float64; `dims` is rope.dim or the head's size. Types that
/// depend on it use `length`, the longest sequence so far. Errors as check_rope_type().
std::vector<double> rope_frequencies(const Rope& rope, int64_t dims, int64_t length = 0);
/// Cosines and sines are multiplied by this.
double rope_magnitude(const Rope& rope);
/// The factor on scores that yarn brings besides rope_magnitude (DeepSeek).
double rope_score_scale(const Rope& rope);
/// True where frequencies change within a sequence: from `original_positions` on.
bool rope_depends_on_length(const Rope& rope);

}  // namespace cupel::format
