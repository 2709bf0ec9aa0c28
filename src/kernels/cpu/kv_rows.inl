// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Stored heads of keys and values (kv_row.h) as a template argument: load(d) gives the lanes from dimension d on, a
// multiple of kLanes; load_first(d, n) those of the last n < kLanes dimensions. Where kFactor, a dot product and a
// weighted sum take the factor outside.

namespace cupel::kernels {
namespace {

template <class Element>
struct PlainHead {
  static constexpr bool kFactor = false;
  const typename Element::Stored* at;
  explicit PlainHead(const uint8_t* head) : at(reinterpret_cast<const typename Element::Stored*>(head)) {}
  Vec load(int64_t d) const { return Element::load(at + d); }
  Vec load_first(int64_t d, int64_t n) const { return Element::load_first(at + d, n); }
  static float factor(const uint8_t*) { return 1.0F; }
};

inline float float_at(const uint8_t* p) {
  float out;
  __builtin_memcpy(&out, p, sizeof out);
  return out;
}

// Padding is zeros, so the last dimensions need no mask.
struct Int8Head {
  static constexpr bool kFactor = true;
  const uint8_t* codes;
  explicit Int8Head(const uint8_t* head) : codes(head + kKvHeader) {}
  Vec load(int64_t d) const { return load_signs(reinterpret_cast<const int8_t*>(codes + d)); }
  Vec load_first(int64_t d, int64_t) const { return load(d); }
  static float factor(const uint8_t* head) { return float_at(head); }
};

struct Fp8Head {
  static constexpr bool kFactor = true;
  const uint8_t* codes;
  explicit Fp8Head(const uint8_t* head) : codes(head + kKvHeader) {}
  Vec load(int64_t d) const { return load_e4m3(codes + d); }
  Vec load_first(int64_t d, int64_t) const { return load(d); }
  static float factor(const uint8_t* head) { return float_at(head); }
};

struct Int4Head {
  static constexpr bool kFactor = false;
  const uint8_t* groups;
  explicit Int4Head(const uint8_t* head) : groups(head) {}
  Vec load(int64_t d) const {
    const uint8_t* group = groups + d / kKvGroup * kKvGroupBytes;
    int32_t header;
    __builtin_memcpy(&header, group, sizeof header);
    const Ints both = splat_int(header);
    const Ints bytes = load_bytes(group + kKvHeader + d % kKvPad);
    const Ints codes = d % kKvGroup < kKvPad ? and_ints(bytes, splat_int(15)) : shift_right<4>(bytes);
    return fma(to_floats(codes), from_bits(shift_left<16>(both)),
               from_bits(and_ints(both, splat_int(static_cast<int32_t>(0xffff0000U)))));
  }
  Vec load_first(int64_t d, int64_t) const { return load(d); }
  static float factor(const uint8_t*) { return 1.0F; }
};

}  // namespace
}  // namespace cupel::kernels
