// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/layout.h"

namespace cupel::format {

constexpr float kLargestMultiplier = 10;  ///< 12 * 10 = 120 fits into an int8
/// How the scale of a block is stored. `multiplier`: an integer of 1 to 10 in four bits.
enum class ScaleType { none, f32, f16, e4m3, e8m0, multiplier };
/// A float32 scale above those of the blocks.
enum class OuterScale { none, tensor, row };

/// A grid of levels with scales: w = (level[code] * scale of the block) * outer scale, in float32,
/// in this order. Axes: o outputs, i inputs, g blocks along the inputs, b blocks along the outputs.
struct GridSpec {
  int bits = 4;               ///< of a code
  std::vector<float> levels;  ///< of each code, 2^bits of them; NaN for codes that must not occur.
                              ///< Empty: every row has its own table and no scales
  ScaleType scale = ScaleType::f16;
  OuterScale outer = OuterScale::none;
  int64_t block_rows = 1;  ///< outputs that share a scale; 0 is all
  int64_t block_cols = 0;  ///< inputs that share a scale; 0 is all
  bool mirror = false;  ///< a negative scale means: levels negated and in reverse, scale positive
  int span = 0;         ///< encoders let the exponents of a row's E8M0 scales differ by at most
                        ///< this; 0: by anything
  bool trits = false;   ///< five codes of three levels in a byte (bits must be 2)
};

/// Levels that are whole multiples of one unit, none above 127 of it.
struct WholeLevels {
  std::vector<int8_t> number;  ///< of each code; 0 for codes that must not occur
  float unit = 1;              ///< level = number * unit
};
/// Nothing where the levels are no such multiples (to a relative 1e-6), or rows have their own.
std::optional<WholeLevels> whole_levels(const GridSpec& spec);

/// Layouts that differ in their grid alone: each names its parameters and says what its GridSpec
/// is.
///
/// Arrays: codes u8 [o, i]; scales [b, g] (f32, f16, or u8: bits of E4M3, E8M0 or the multiplier);
/// outer f32 [1, 1] or [o, 1]; tables f16 [o, 2^bits] where each row has its own.
///
/// Planes: codes as planes.h has them, or trits u8 [stripes, ceil(i / 5), 16]; scales [stripes, g,
/// 16] where each row has its own (multipliers of rows r and r + 8 in one byte: [stripes, g, 8]),
/// else as the array; outer and tables as the arrays.
class GridLayout : public Layout {
 public:
  const GridSpec& spec() const { return spec_; }
  int64_t block_rows(int64_t rows) const { return spec_.block_rows == 0 ? rows : spec_.block_rows; }
  int64_t block_cols(int64_t cols) const { return spec_.block_cols == 0 ? cols : spec_.block_cols; }
  int64_t row_blocks(int64_t rows) const;
  int64_t col_blocks(int64_t cols) const;
  bool has_tables() const { return spec_.levels.empty(); }
  /// The stored bits of a scale as the number that they stand for, its sign included.
  float scale_value(uint32_t stored) const;
  /// The nearest scale that can be stored, as its bits (E8M0: nearest exponent; f16: at least its
  /// smallest positive number).
  uint32_t stored_scale(float value) const;
  ElementType scale_array_type() const;

  void decode(const WeightCode& code, std::span<float> out) const override;
  Planes pack(const WeightCode& code) const override;
  void unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row, int64_t count,
              std::span<float> out) const override;
  std::map<std::string, Array> unpack_arrays(const PlaneViews& planes, int64_t rows,
                                             int64_t cols) const override;
  std::vector<PlaneSpec> plane_specs(int64_t rows, int64_t cols) const override;
  std::map<std::string, Array> random_arrays(int64_t rows, int64_t cols, double deviation,
                                             Rng& rng) const override;

 protected:
  explicit GridLayout(GridSpec spec);

 private:
  std::vector<PlaneSpec> array_specs(int64_t rows, int64_t cols) const;
  void check_values(const WeightCode& code) const;
  struct Shared;
  float scale_at(const Shared& shared, int64_t o, int64_t g, int64_t groups, int64_t height) const;
  void decode_rows(const Shared& shared, int64_t rows, int64_t cols, int64_t row, int64_t count,
                   const uint8_t* codes, std::span<float> out) const;
  void codes_of(const std::byte* plane, int64_t cols, int64_t row, int64_t count,
                uint8_t* out) const;

  GridSpec spec_;
  std::vector<float> mirrored_;  ///< levels of a block with a negative scale
};

}  // namespace cupel::format
