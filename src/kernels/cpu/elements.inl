// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Stored element types as a template argument: load() and load_first() give float32 lanes.

namespace cupel::kernels {
namespace {

struct F32 {
  using Stored = float;
  static Vec load(const float* p) { return kernels::load(p); }
  static Vec load_first(const float* p, int64_t n) { return kernels::load_first(p, n); }
};

/// n < kLanes elements of 16 bits, zeros after them.
struct Padded16 {
  uint16_t values[kLanes];
  Padded16(const uint16_t* p, int64_t n) {
    for (int64_t i = 0; i < kLanes; ++i) values[i] = i < n ? p[i] : uint16_t{0};
  }
};

struct F16 {
  using Stored = uint16_t;
  static Vec load(const uint16_t* p) { return load_f16(p); }
  static Vec load_first(const uint16_t* p, int64_t n) { return load_f16(Padded16(p, n).values); }
};

struct BF16 {
  using Stored = uint16_t;
  static Vec load(const uint16_t* p) { return load_bf16(p); }
  static Vec load_first(const uint16_t* p, int64_t n) { return load_bf16(Padded16(p, n).values); }
};

}  // namespace
}  // namespace cupel::kernels
