// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/kv_row.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "format/element_type.h"
#include "kernels/cpu/quantize_constants.h"

namespace cupel::kernels {
namespace {

constexpr std::array kNames = {std::pair{KvType::f16, "f16"}, std::pair{KvType::f32, "f32"},
                               std::pair{KvType::int8, "int8"}, std::pair{KvType::int4, "int4"},
                               std::pair{KvType::fp8, "fp8"}};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargestE4m3 = 448.0F;
constexpr float kFourBits = 15.0F;

int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

template <class T>
T read(const void* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// NaN where a number is not finite.
float largest_magnitude(const float* x, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return kNaN;
    most = std::max(most, std::fabs(x[i]));
  }
  return most;
}

/// E4M3 as the f16 that is 2^-8 times as large: the same fields, under a bias of 15 instead of 7.
uint16_t e4m3_as_f16(uint8_t code) {
  return static_cast<uint16_t>((code & 0x80) << 8 | (code & 0x7f) << 7);
}

/// To nearest, half to even, for |x| <= 448.
uint8_t to_e4m3(float x) {
  const float size = std::fabs(x);
  const auto bits = std::bit_cast<uint32_t>(size);
  const uint32_t sign = std::bit_cast<uint32_t>(x) >> 24 & 0x80;
  // Below 2^-6 the numbers are multiples of 2^-9; above it the mantissa loses its last 20 bits and
  // the exponent's bias falls from 127 to 7.
  const uint32_t code = size < 0x1p-6F ? static_cast<uint32_t>(std::nearbyint(size * 512.0F))
                                       : ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120U << 3);
  return static_cast<uint8_t>(sign | code);
}

uint8_t to_int8(float x) {
  return static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(x)));
}

/// |x| * (range / amax) stays within the range but for a rounding that the codes do not show.
void pack_scaled(KvType type, const float* x, int64_t dim, uint8_t* out) {
  const float amax = largest_magnitude(x, dim);
  const bool fp8 = type == KvType::fp8;
  float factor = fp8 ? amax / kLargestE4m3 * 256.0F : amax / 127.0F, inverse = 0;
  if (amax < kTinyBlock) factor = 0;
  if (amax >= kTinyBlock) inverse = (fp8 ? kLargestE4m3 : 127.0F) / amax;
  std::memcpy(out, &factor, sizeof factor);
  out += kKvHeader;
  std::memset(out, 0, static_cast<std::size_t>(round_up(dim, kKvPad)));
  if (inverse == 0) return;
  for (int64_t d = 0; d < dim; ++d)
    out[d] = fp8 ? to_e4m3(x[d] * inverse) : to_int8(x[d] * inverse);
}

/// The bf16 at or below a finite number, at or above it.
uint16_t bf16_below(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool inexact = (bits & 0xffff) != 0;
  return static_cast<uint16_t>((bits >> 16) + (std::signbit(x) && inexact ? 1 : 0));
}
uint16_t bf16_above(float x) {
  return static_cast<uint16_t>(bf16_below(-x) ^ 0x8000);
}

/// `least` is rounded down and the scale up, so that the sixteen numbers span the group.
void pack_group(const float* x, int64_t n, uint8_t* out) {
  std::memset(out, 0, static_cast<std::size_t>(kKvGroupBytes));
  const auto [low, high] = std::minmax_element(x, x + n);
  std::array<uint16_t, 2> header = {0, bf16_below(*low)};
  const float least = format::bf16_to_f32(header[1]);
  header[0] = bf16_above(*high / kFourBits - least / kFourBits);
  const float scale = format::bf16_to_f32(header[0]);
  const bool finite = !std::isnan(largest_magnitude(x, n)) && std::isfinite(scale);
  if (!finite) header.fill(format::f32_to_bf16(kNaN));
  if (finite && scale < kTinyBlock) header[0] = 0;
  std::memcpy(out, header.data(), sizeof header);
  if (!finite || header[0] == 0) return;
  for (int64_t i = 0; i < n; ++i) {
    const float code = std::nearbyint(std::clamp((x[i] - least) / scale, 0.0F, kFourBits));
    out[kKvHeader + i % kKvPad] |= static_cast<uint8_t>(static_cast<int>(code) << i / kKvPad * 4);
  }
}

float int4_number(const uint8_t* head, int64_t d) {
  const uint8_t* group = head + d / kKvGroup * kKvGroupBytes;
  const int64_t i = d % kKvGroup;
  const int code = group[kKvHeader + i % kKvPad] >> i / kKvPad * 4 & 15;
  return std::fma(static_cast<float>(code), format::bf16_to_f32(read<uint16_t>(group)),
                  format::bf16_to_f32(read<uint16_t>(group + 2)));
}

}  // namespace

std::string_view kv_type_name(KvType type) {
  return kNames[static_cast<std::size_t>(type)].second;
}

KvType kv_type_from_name(std::string_view name) {
  for (const auto& [type, known] : kNames)
    if (name == known) return type;
  fail(Fault::user, "KV cache of type '", name, "': expected f16, f32, int8, int4 or fp8");
}

int64_t kv_head_bytes(KvType type, int64_t dim) {
  switch (type) {
    case KvType::f16:
      return 2 * dim;
    case KvType::f32:
      return 4 * dim;
    case KvType::int8:
    case KvType::fp8:
      return kKvHeader + round_up(dim, kKvPad);
    case KvType::int4:
      return round_up(dim, kKvGroup) / kKvGroup * kKvGroupBytes;
  }
  fail(Fault::internal, "unknown type of KV cache");
}

float kv_code(KvType type, const uint8_t* head, int64_t d) {
  switch (type) {
    case KvType::f16:
      return format::f16_to_f32(read<uint16_t>(head + 2 * d));
    case KvType::f32:
      return read<float>(head + 4 * d);
    case KvType::int8:
      return static_cast<float>(static_cast<int8_t>(head[kKvHeader + d]));
    case KvType::fp8:
      return format::f16_to_f32(e4m3_as_f16(head[kKvHeader + d]));
    case KvType::int4:
      return int4_number(head, d);
  }
  return kNaN;
}

float kv_factor(KvType type, const uint8_t* head) {
  return type == KvType::int8 || type == KvType::fp8 ? read<float>(head) : 1.0F;
}

void pack_kv(KvType type, const float* x, int64_t heads, int64_t dim, uint8_t* out) {
  const int64_t bytes = kv_head_bytes(type, dim);
  for (int64_t h = 0; h < heads; ++h, x += dim, out += bytes) {
    if (type != KvType::int4) {
      pack_scaled(type, x, dim, out);
      continue;
    }
    for (int64_t d = 0; d < dim; d += kKvGroup)
      pack_group(x + d, std::min(kKvGroup, dim - d), out + d / kKvGroup * kKvGroupBytes);
  }
}

}  // namespace cupel::kernels
