// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/layout.h"

namespace cupel::format {

/// An integer grid stored as bit planes, the highest bit first: the first b planes are a model of b
/// bits of their own. A prefix q of b bits of a code of B stands for w = s (q 2^(B-b) + c_b - z):
/// it is cut off (floor), never rounded, so that reading on never changes what was read; c_b is
/// what the missing bits are worth on average. Source: the MatMoE seed (floor and compensation),
/// our reading.
///
/// Arrays: codes u8 [o, i] (low bits beyond `kept` are zero), scales f16 [o, g], zeros u8 [o, g],
/// centres f32 [1, B] (c_b of b = 1 to B; c_B is 0). Planes: bit0 (the highest) to bit<kept - 1>,
/// each as codes of one bit (planes.h); scales, zeros u8 [stripes, g, 16]; centres.
struct NestedParams : Params {
  int bits = 4;    ///< B
  int group = 64;  ///< 0 is the whole row
  int kept = 0;    ///< planes that are stored; 0 is all
  void visit(ParamVisitor& v) override;
};

class NestedLayout : public Layout {
 public:
  explicit NestedLayout(const NestedParams& params);
  std::string name() const override { return "nested"; }
  const Params& params() const override { return params_; }
  std::string description() const override;
  void decode(const WeightCode& code, std::span<float> out) const override;
  Planes pack(const WeightCode& code) const override;
  void unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row, int64_t count,
              std::span<float> out) const override;
  std::map<std::string, Array> unpack_arrays(const PlaneViews& planes, int64_t rows,
                                             int64_t cols) const override;
  std::vector<PlaneSpec> plane_specs(int64_t rows, int64_t cols) const override;
  std::map<std::string, Array> random_arrays(int64_t rows, int64_t cols, double deviation,
                                             Rng& rng) const override;

  int bits() const { return params_.bits; }
  int kept() const { return params_.kept == 0 ? params_.bits : params_.kept; }
  int64_t group_width(int64_t cols) const { return params_.group == 0 ? cols : params_.group; }
  int64_t groups(int64_t cols) const { return (cols + group_width(cols) - 1) / group_width(cols); }

 private:
  std::vector<PlaneSpec> array_specs(int64_t rows, int64_t cols) const;
  NestedParams params_;
};

/// The same code cut off after its first `kept` planes (1 to what it holds): what a reader of that
/// prefix sees, bit for bit. Fault::user for another number.
WeightCode nested_prefix(const WeightCode& code, int kept);

}  // namespace cupel::format
