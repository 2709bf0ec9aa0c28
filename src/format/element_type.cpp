// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/element_type.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace cupel::format {
namespace {

using Byte = uint8_t;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
T load(const Byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
float plain(const Byte* p) {
  return static_cast<float>(load<T>(p));
}
float half(const Byte* p) {
  return f16_to_f32(load<uint16_t>(p));
}
float brain(const Byte* p) {
  return bf16_to_f32(load<uint16_t>(p));
}

/// A float of one byte or less: sign, exponent, fraction; no special values.
float small_float(unsigned bits, int exponent_bits, int fraction_bits, int bias) {
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const unsigned exponent = (bits >> fraction_bits) & ((1u << exponent_bits) - 1);
  const bool negative = (bits >> (fraction_bits + exponent_bits)) & 1;
  const float magnitude =
      exponent == 0
          ? std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits)
          : std::ldexp(static_cast<float>(fraction + (1u << fraction_bits)),
                       static_cast<int>(exponent) - bias - fraction_bits);
  return negative ? -magnitude : magnitude;
}
float f8_e4m3(const Byte* p) {  // the "FN" flavour: no infinity
  return (*p & 0x7f) == 0x7f ? kNaN : small_float(*p, 4, 3, 7);
}
float f8_e5m2(const Byte* p) {  // the upper half of an f16
  return f16_to_f32(static_cast<uint16_t>(*p << 8));
}
float f8_e4m3fnuz(const Byte* p) {
  return *p == 0x80 ? kNaN : small_float(*p, 4, 3, 8);
}
float f8_e5m2fnuz(const Byte* p) {
  return *p == 0x80 ? kNaN : small_float(*p, 5, 2, 16);
}
float f8_e8m0(const Byte* p) {
  return *p == 0xff ? kNaN : std::ldexp(1.0f, *p - 127);
}
void f4(const Byte* p, float* out) {  // two in a byte, the low nibble first
  out[0] = small_float(*p & 15, 2, 1, 1);
  out[1] = small_float(*p >> 4, 2, 1, 1);
}

// GGUF blocks of 32: 16 bytes of nibbles, the low ones are elements 0-15, the high ones 16-31.
void q4_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((p[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((p[2 + i] >> 4) - 8);
  }
}
void q4_1(const Byte* p, float* out) {
  const float d = half(p), m = half(p + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(p[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(p[4 + i] >> 4) + m;
  }
}
/// Bit i of the word at `high` is bit 4 of element i.
int five_bits(const Byte* high, const Byte* low, int i) {
  const int nibble = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
  return nibble | static_cast<int>((load<uint32_t>(high) >> i) & 1) << 4;
}
void q5_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(p + 2, p + 6, i) - 16);
}
void q5_1(const Byte* p, float* out) {
  const float d = half(p), m = half(p + 2);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(p + 4, p + 8, i)) + m;
}
void q8_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(p[2 + i]));
}

using Decode = void (*)(const Byte* in, std::size_t blocks, float* out);

template <float (*kOne)(const Byte*), int kBytes>
void each(const Byte* in, std::size_t blocks, float* out) {
  for (std::size_t i = 0; i < blocks; ++i) out[i] = kOne(in + i * kBytes);
}
template <void (*kBlock)(const Byte*, float*), int kElements, int kBytes>
void blockwise(const Byte* in, std::size_t blocks, float* out) {
  for (std::size_t i = 0; i < blocks; ++i) kBlock(in + i * kBytes, out + i * kElements);
}
void copy_f32(const Byte* in, std::size_t blocks, float* out) {
  std::memcpy(out, in, blocks * 4);
}

struct Row {
  ElementType type;
  ElementTraits traits;
  const char* safetensors;  ///< nullptr when safetensors has no such type
  int gguf;                 ///< -1 when GGUF has no such type
  Decode decode;            ///< nullptr: listed only
};
using enum ElementType;

/// In the order of the enumeration.
constexpr Row kRows[] = {
    {f64, {"f64", 1, 8}, "F64", 28, each<plain<double>, 8>},
    {f32, {"f32", 1, 4}, "F32", 0, copy_f32},
    {f16, {"f16", 1, 2}, "F16", 1, each<half, 2>},
    {bf16, {"bf16", 1, 2}, "BF16", 30, each<brain, 2>},
    {i64, {"i64", 1, 8}, "I64", 27, each<plain<int64_t>, 8>},
    {i32, {"i32", 1, 4}, "I32", 26, each<plain<int32_t>, 4>},
    {i16, {"i16", 1, 2}, "I16", 25, each<plain<int16_t>, 2>},
    {i8, {"i8", 1, 1}, "I8", 24, each<plain<int8_t>, 1>},
    {u64, {"u64", 1, 8}, "U64", -1, each<plain<uint64_t>, 8>},
    {u32, {"u32", 1, 4}, "U32", -1, each<plain<uint32_t>, 4>},
    {u16, {"u16", 1, 2}, "U16", -1, each<plain<uint16_t>, 2>},
    {u8, {"u8", 1, 1}, "U8", -1, each<plain<uint8_t>, 1>},
    {boolean, {"bool", 1, 1}, "BOOL", -1, each<plain<uint8_t>, 1>},
    {ElementType::f8_e4m3, {"f8_e4m3", 1, 1}, "F8_E4M3", -1, each<format::f8_e4m3, 1>},
    {ElementType::f8_e5m2, {"f8_e5m2", 1, 1}, "F8_E5M2", -1, each<format::f8_e5m2, 1>},
};

}  // namespace
}  // namespace cupel::format
