// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cupel::format {

/// How the numbers of a tensor are stored: plain elements, or blocks that share scales (GGUF).
enum class ElementType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64,
  q8_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq2_xxs,
  iq2_xs,
  iq3_xxs,
  iq1_s,
  iq4_nl,
  iq3_s,
  iq2_s,
  iq4_xs,
  iq1_m,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
  q1_0,
};

struct ElementTraits {
  std::string_view name;  ///< lower case: "bf16", "q4_1"
  int block;              ///< elements that are stored together
  int bytes;              ///< of one block
};
const ElementTraits& traits(ElementType type);
/// By the names that safetensors files use ("BF16", "F8_E4M3"), or by GGUF's type number.
std::optional<ElementType> type_of_safetensors(std::string_view name);
/// The reverse; "" for a type that safetensors files do not have.
std::string_view safetensors_name(ElementType type);
std::optional<ElementType> type_of_gguf(uint32_t id);

/// Bytes of `count` elements; Fault::data unless whole blocks fill it, overflow checked.
std::size_t stored_bytes(ElementType type, std::size_t count);

/// False for types that are listed and validated but have no decoder (`to_float` names them).
bool has_decoder(ElementType type);

/// Stored bytes to float32; `out` has the element count. Exact for every type here except f64 and
/// integers of more than 24 bits. `bytes` needs no alignment. Fault::data for a size that does not
/// fit or a type without decoder.
void to_float(ElementType type, std::span<const std::byte> bytes, std::span<float> out);

/// Round to nearest even, the conversions of the definition (subnormals and NaN kept).
uint16_t f32_to_f16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
inline float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  __builtin_memcpy(&out, &wide, 4);
  return out;
}

}  // namespace cupel::format
