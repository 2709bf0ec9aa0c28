// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>

namespace cupel::format {

/// How the input of a multiplication is rounded, after the input transform: y = W' Q(T x). The
/// inputs of a token are cut into groups; each has a scale s = largest |x| / largest level (float32
/// division), or all groups of all tokens share one that calibration found. A group's own scale may
/// be smaller, s = clip * largest |x| / largest level: its largest inputs are clipped. Then
///   integer  Q(x) = s rint(clamp(x / s, -L, L)), L = 2^(bits - 1) - 1, half to even
///   e4m3     Q(x) = s e4m3(clamp(x / s, -448, 448)), the nearest number, ties to even mantissa
/// each operation in float32. A group whose largest magnitude is below kTinyGroup is zero. NaN and
/// infinity give NaN (in the whole group where the scale comes from it), so that they show.
struct InputRounding {
  enum class Numbers { none, integer, e4m3 };
  Numbers numbers = Numbers::none;
  int bits = 8;     ///< of an integer, 2 to 8
  int group = 0;    ///< inputs of a token that share a scale, the last group may be short; 0: all
  float scale = 0;  ///< the one scale; 0: each group has its own
  float clip = 1;   ///< share of the largest input that a group's own scale reaches, in (0, 1]
  bool none() const { return numbers == Numbers::none; }
  bool dynamic() const { return scale == 0; }
  /// Inputs that share a scale, of `width`.
  int64_t group_width(int64_t width) const { return dynamic() && group > 0 ? group : width; }
  friend bool operator==(const InputRounding&, const InputRounding&) = default;
};

/// Below this, x / s would lose its meaning: s nears float32's smallest normal numbers.
constexpr float kTinyGroup = 0x1p-100F;

/// L, or 448.
float largest_level(const InputRounding& rounding);
/// "int8", "fp8".
std::string numbers_name(const InputRounding& rounding);
/// For people: "int8 per token", "int4 per group of 128", "fp8, static scale 0.0125"; "" for none.
std::string description(const InputRounding& rounding);
/// Fault::data for bits, a group or a scale that mean nothing.
void check_rounding(const InputRounding& rounding);

/// Q of a row of `width` inputs in place: the definition. `scales`, if given, receives those of the
/// groups, 0 for one that is zero.
void round_row(const InputRounding& rounding, float* x, int64_t width, float* scales = nullptr);

}  // namespace cupel::format
