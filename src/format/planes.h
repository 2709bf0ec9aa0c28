// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "format/layout.h"

/// Parts that layouts are made of. Axes: o outputs (rows), i inputs (cols), g groups of inputs, r
/// row inside a stripe of 16 rows.
namespace cupel::format {

constexpr int64_t kStripe = 16;  ///< output rows that are stored together
constexpr int64_t kChunk = 32;   ///< inputs of a row that are stored together

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

std::size_t plane_bytes(ElementType type, const std::vector<int64_t>& shape);
Array empty_array(ElementType type, std::vector<int64_t> shape);
/// Zeroed planes as the specifications say.
Planes empty_planes(const std::vector<Layout::PlaneSpec>& specs);

/// An array of a code, its type and shape checked. Fault::data says what is wrong with it.
const Array& array_of(const WeightCode& code, const std::string& name, ElementType type,
                      const std::vector<int64_t>& shape);
/// Fault::data unless the code has exactly these arrays.
void check_arrays(const WeightCode& code, const std::vector<std::string>& names);
/// The bytes of a plane, its size checked against the specification. Fault::data.
std::span<const std::byte> plane_of(const PlaneViews& planes, const Layout::PlaneSpec& spec);

/// Codes u8 [o, i] of `bits` (1 to 8) each, as u8 [stripes, chunks, bits * 64]. A stripe is 16
/// rows, a chunk 32 inputs, both padded. A code is cut into fields of 4, 2 and 1 bits (8 = 8, 7 =
/// 4+2+1, 6 = 4+2, 5 = 4+1, 4, 3 = 2+1, 2, 1): low bits first into the widest field. For each
/// field, widest first, follow `width` lines of 64 bytes; a line is 16 rows x 4 bytes and holds 32
/// / width inputs of each row: input 4 s + b of the line lies in byte b at bit s * width.
std::vector<int64_t> code_plane_shape(int64_t rows, int64_t cols, int bits);
/// `padding(row, input)` is the code that fills what lies outside, for rows and chunks.
void pack_codes(const uint8_t* codes, int64_t rows, int64_t cols, int bits,
                const std::function<uint8_t(int64_t row, int64_t input)>& padding,
                std::byte* plane);
/// Rows [row, row + count) to out [count, i].
void unpack_codes(const std::byte* plane, int64_t cols, int bits, int64_t row, int64_t count,
                  uint8_t* out);

/// Values [o, g] of `size` bytes each as [stripes, g, 16]; padded rows are zero.
void to_stripes(const void* values, std::size_t size, int64_t rows, int64_t groups, void* plane);
void from_stripes(const void* plane, std::size_t size, int64_t rows, int64_t groups, void* values);

/// `count` random bytes below 2^bits.
std::vector<uint8_t> random_bytes(std::size_t count, int bits, Rng& rng);
/// Around `middle`, between half of it and one and a half.
float jittered(double middle, Rng& rng);

}  // namespace cupel::format
