// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string_view>

namespace cupel::kernels {

/// How one head's key or value of one position is stored. A packed head stands on its own:
///   int8  a factor (f32), then codes -127..127:   x = factor * code
///   fp8   a factor (f32), then E4M3 codes:        x = factor * E4M3(code) / 256
///   int4  groups of 32 dimensions, each a scale and a least number (bf16 both), then 16 bytes,
///         dimension i in the low half of byte i, i + 16 in its high half:
///         x = fma(code, scale, least)
/// Codes of int8 and fp8 are padded with zeros to whole 16s, a last group of int4 to 32. Zeros have
/// the factor 0; numbers that are not finite make the head, or the group, NaN.
enum class KvType { f16, f32, int8, int4, fp8 };

constexpr int64_t kKvPad = 16;    ///< dimensions, int8 and fp8
constexpr int64_t kKvGroup = 32;  ///< dimensions, int4
constexpr int64_t kKvHeader = 4;  ///< bytes before the codes of a head (int8, fp8) or group (int4)
constexpr int64_t kKvGroupBytes = kKvHeader + kKvGroup / 2;

std::string_view kv_type_name(KvType type);
/// Fault::user names the types that there are.
KvType kv_type_from_name(std::string_view name);

/// Bytes of one head of `dim` dimensions at one position.
int64_t kv_head_bytes(KvType type, int64_t dim);
/// Dimension d of a stored head, before the factor: x = kv_factor * kv_code.
float kv_code(KvType type, const uint8_t* head, int64_t d);
/// 1 for the types that have none.
float kv_factor(KvType type, const uint8_t* head);
/// `heads` heads of `dim` numbers each, one behind the other, to int8, int4 or fp8. The same code
/// at every level: a row is written once and read at every later position.
void pack_kv(KvType type, const float* x, int64_t heads, int64_t dim, uint8_t* out);

}  // namespace cupel::kernels
