// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/layout.h"

namespace cupel::format {

/// Integer grid with one fp16 scale per group of inputs: w = scale * (code - zero), code in [0,
/// 2^bits). Symmetric: zero is 2^(bits-1). Asymmetric: zero is a stored integer of the same range,
/// one per group.
///
/// Arrays: codes u8 [o, i], scales f16 [o, g], zeros u8 [o, g] (asymmetric only); g = ceil(i /
/// group), the last group may be short.
///
/// Planes. A stripe is 16 output rows (the last one padded), a chunk 32 inputs (the last one
/// padded); padded codes are the zero point of their group, so that they add nothing. A code is cut
/// into fields of 4, 2 and 1 bits (8 = 8, 7 = 4+2+1, 6 = 4+2, 5 = 4+1, 4, 3 = 2+1, 2): low bits
/// first into the widest field.
///   codes   u8 [stripes, chunks, bits * 64]: for each field, widest first, `width` lines of 64
///   bytes; a line is 16 rows
///           x 4 bytes and holds 32 / width inputs of each row: input 4 s + b of the line lies in
///           byte b at bit s*width.
///   scales  f16 [stripes, g, 16]
///   zeros   u8 [stripes, g, 16] (asymmetric only)
struct UniformParams : Params {
  int bits = 4;
  int group = 64;  ///< 0 is the whole row; else 32, 64, 128, 256, 512 or 1024
  bool symmetric = false;
  void visit(ParamVisitor& v) override;
};

class UniformLayout : public Layout {
 public:
  explicit UniformLayout(const UniformParams& params);
  std::string name() const override { return "uniform"; }
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

  int bits_per_code() const { return params_.bits; }
  bool symmetric() const { return params_.symmetric; }
  /// Inputs per group for a row of `cols` inputs.
  int64_t group_width(int64_t cols) const { return params_.group == 0 ? cols : params_.group; }
  int64_t groups(int64_t cols) const { return (cols + group_width(cols) - 1) / group_width(cols); }

 private:
  UniformParams params_;
};

}  // namespace cupel::format
