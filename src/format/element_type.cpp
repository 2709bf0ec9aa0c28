// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/element_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "format/gguf_blocks.h"
#include "format/gguf_iq_blocks.h"
#include "format/gguf_k_blocks.h"

namespace cupel::format {
namespace {

using blocks::Byte;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
float plain(const Byte* p) {
  return static_cast<float>(blocks::load<T>(p));
}
float brain(const Byte* p) {
  return bf16_to_f32(blocks::load<uint16_t>(p));
}

/// A float of one byte or less: sign, exponent, fraction; no special values.
float small_float(unsigned bits, int exponent_bits, int fraction_bits, int bias) {
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
  const bool negative = (bits >> (fraction_bits + exponent_bits)) & 1;
  const unsigned leading = exponent == 0 ? 0 : 1u << fraction_bits;
  const float magnitude = std::ldexp(static_cast<float>(fraction + leading),
                                     std::max(exponent, 1) - bias - fraction_bits);
  return negative ? -magnitude : magnitude;
}
float e4m3(const Byte* p) {  // the "FN" flavour: no infinity
  return (*p & 0x7f) == 0x7f ? kNaN : small_float(*p, 4, 3, 7);
}
float e5m2(const Byte* p) {  // the upper half of an f16
  return f16_to_f32(static_cast<uint16_t>(*p << 8));
}
float e4m3fnuz(const Byte* p) {
  return *p == 0x80 ? kNaN : small_float(*p, 4, 3, 8);
}
float e5m2fnuz(const Byte* p) {
  return *p == 0x80 ? kNaN : small_float(*p, 5, 2, 16);
}
float e8m0(const Byte* p) {
  return *p == 0xff ? kNaN : std::ldexp(1.0f, *p - 127);
}
void e2m1(const Byte* p, float* out) {  // two in a byte, the low nibble first
  out[0] = small_float(*p & 15, 2, 1, 1);
  out[1] = small_float(*p >> 4, 2, 1, 1);
}

using Decode = void (*)(const Byte* in, std::size_t blocks, float* out);

template <float (*kOne)(const Byte*), int kBytes>
void each(const Byte* in, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = kOne(in + i * kBytes);
}
template <void (*kBlock)(const Byte*, float*), int kElements, int kBytes>
void block(const Byte* in, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) kBlock(in + i * kBytes, out + i * kElements);
}
void copy_f32(const Byte* in, std::size_t count, float* out) {
  std::memcpy(out, in, count * 4);
}

struct Row {
  ElementType type;
  ElementTraits traits;
  const char* safetensors;  ///< nullptr: safetensors has no such type
  int gguf;                 ///< -1: GGUF has no such type
  Decode decode;            ///< nullptr: listed only
};
using enum ElementType;

/// In the order of the enumeration.
constexpr Row kRows[] = {
    {f64, {"f64", 1, 8}, "F64", 28, each<plain<double>, 8>},
    {f32, {"f32", 1, 4}, "F32", 0, copy_f32},
    {f16, {"f16", 1, 2}, "F16", 1, each<blocks::half, 2>},
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
    {f8_e4m3, {"f8_e4m3", 1, 1}, "F8_E4M3", -1, each<e4m3, 1>},
    {f8_e5m2, {"f8_e5m2", 1, 1}, "F8_E5M2", -1, each<e5m2, 1>},
    {q4_0, {"q4_0", 32, 18}, nullptr, 2, block<blocks::q4_0, 32, 18>},
    {q4_1, {"q4_1", 32, 20}, nullptr, 3, block<blocks::q4_1, 32, 20>},
    {q5_0, {"q5_0", 32, 22}, nullptr, 6, block<blocks::q5_0, 32, 22>},
    {q5_1, {"q5_1", 32, 24}, nullptr, 7, block<blocks::q5_1, 32, 24>},
    {q8_0, {"q8_0", 32, 34}, nullptr, 8, block<blocks::q8_0, 32, 34>},
    {f8_e8m0, {"f8_e8m0", 1, 1}, "F8_E8M0", -1, each<e8m0, 1>},
    {f8_e4m3fnuz, {"f8_e4m3fnuz", 1, 1}, "F8_E4M3FNUZ", -1, each<e4m3fnuz, 1>},
    {f8_e5m2fnuz, {"f8_e5m2fnuz", 1, 1}, "F8_E5M2FNUZ", -1, each<e5m2fnuz, 1>},
    {f6_e2m3, {"f6_e2m3", 4, 3}, "F6_E2M3", -1, nullptr},
    {f6_e3m2, {"f6_e3m2", 4, 3}, "F6_E3M2", -1, nullptr},
    {f4, {"f4", 2, 1}, "F4", -1, block<e2m1, 2, 1>},
    {c64, {"c64", 1, 8}, "C64", -1, nullptr},
    {q8_1, {"q8_1", 32, 36}, nullptr, 9, nullptr},
    {q2_k, {"q2_k", 256, 84}, nullptr, 10, block<blocks::q2_k, 256, 84>},
    {q3_k, {"q3_k", 256, 110}, nullptr, 11, block<blocks::q3_k, 256, 110>},
    {q4_k, {"q4_k", 256, 144}, nullptr, 12, block<blocks::q4_k, 256, 144>},
    {q5_k, {"q5_k", 256, 176}, nullptr, 13, block<blocks::q5_k, 256, 176>},
    {q6_k, {"q6_k", 256, 210}, nullptr, 14, block<blocks::q6_k, 256, 210>},
    {q8_k, {"q8_k", 256, 292}, nullptr, 15, nullptr},
    {iq2_xxs, {"iq2_xxs", 256, 66}, nullptr, 16, block<blocks::iq2_xxs, 256, 66>},
    {iq2_xs, {"iq2_xs", 256, 74}, nullptr, 17, block<blocks::iq2_xs, 256, 74>},
    {iq3_xxs, {"iq3_xxs", 256, 98}, nullptr, 18, block<blocks::iq3_xxs, 256, 98>},
    {iq1_s, {"iq1_s", 256, 50}, nullptr, 19, block<blocks::iq1_s, 256, 50>},
    {iq4_nl, {"iq4_nl", 32, 18}, nullptr, 20, block<blocks::iq4_nl, 32, 18>},
    {iq3_s, {"iq3_s", 256, 110}, nullptr, 21, block<blocks::iq3_s, 256, 110>},
    {iq2_s, {"iq2_s", 256, 82}, nullptr, 22, block<blocks::iq2_s, 256, 82>},
    {iq4_xs, {"iq4_xs", 256, 136}, nullptr, 23, block<blocks::iq4_xs, 256, 136>},
    {iq1_m, {"iq1_m", 256, 56}, nullptr, 29, block<blocks::iq1_m, 256, 56>},
    {tq1_0, {"tq1_0", 256, 54}, nullptr, 34, block<blocks::tq1_0, 256, 54>},
    {tq2_0, {"tq2_0", 256, 66}, nullptr, 35, block<blocks::tq2_0, 256, 66>},
    {mxfp4, {"mxfp4", 32, 17}, nullptr, 39, block<blocks::mxfp4, 32, 17>},
    {nvfp4, {"nvfp4", 64, 36}, nullptr, 40, block<blocks::nvfp4, 64, 36>},
    {q1_0, {"q1_0", 128, 18}, nullptr, 41, block<blocks::q1_0, 128, 18>},
};
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  return true;
}
static_assert(in_order());

const Row& row(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  CUPEL_ASSERT(index < std::size(kRows));
  return kRows[index];
}

}  // namespace

const ElementTraits& traits(ElementType type) {
  return row(type).traits;
}

std::optional<ElementType> type_of_safetensors(std::string_view name) {
  for (const Row& r : kRows)
    if (r.safetensors && name == r.safetensors) return r.type;
  return std::nullopt;
}

std::string_view safetensors_name(ElementType type) {
  for (const Row& r : kRows)
    if (r.type == type && r.safetensors) return r.safetensors;
  return "";
}

std::optional<ElementType> type_of_gguf(uint32_t id) {
  for (const Row& r : kRows)
    if (r.gguf >= 0 && id == static_cast<uint32_t>(r.gguf)) return r.type;
  return std::nullopt;
}

std::size_t stored_bytes(ElementType type, std::size_t count) {
  const ElementTraits& t = traits(type);
  const auto block_size = static_cast<std::size_t>(t.block);
  CUPEL_CHECK(count % block_size == 0, data, count, " elements of type ", t.name,
              " do not fill whole blocks of ", block_size);
  return checked_mul(count / block_size, static_cast<std::size_t>(t.bytes), "size of a tensor");
}

bool has_decoder(ElementType type) {
  return row(type).decode != nullptr;
}

void to_float(ElementType type, std::span<const std::byte> bytes, std::span<float> out) {
  const Row& r = row(type);
  CUPEL_CHECK(bytes.size() == stored_bytes(type, out.size()), data, out.size(),
              " elements of type ", r.traits.name, " take ", stored_bytes(type, out.size()),
              " bytes, found ", bytes.size());
  CUPEL_CHECK(r.decode, data, "element type ", r.traits.name, " is not supported: no decoder");
  if (!out.empty())
    r.decode(reinterpret_cast<const Byte*>(bytes.data()),
             out.size() / static_cast<std::size_t>(r.traits.block), out.data());
}

uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)  // NaN: keeps the upper payload, made quiet
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  uint32_t shift = 13, fraction = magnitude - (112u << 23);
  if (magnitude < 0x38800000) {  // subnormal in f16: units of 2^-24
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;
    shift = 126 - exponent;
    fraction = (magnitude & 0x7fffff) | 0x800000;
  }
  const uint32_t rest = fraction & ((1u << shift) - 1), middle = 1u << (shift - 1);
  uint32_t rounded = fraction >> shift;
  if (rest > middle || (rest == middle && (rounded & 1))) ++rounded;
  return static_cast<uint16_t>(sign | rounded);
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace cupel::format
