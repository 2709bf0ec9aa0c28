// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/rng.h"
#include "format/weight_code.h"

namespace cupel::format {

/// What packed bits mean: pack, unpack (scalar, exact: the definition and the oracle of every
/// kernel) and an honest account of bits. Immutable. The runtime runs a layout from the day it
/// exists, through unpack.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual std::string name() const = 0;
  virtual const Params& params() const = 0;
  /// For people: "3-bit g64 asym".
  virtual std::string description() const = 0;

  /// Float32 values of the arrays of a code, [rows, cols], input transform not undone.
  virtual void decode(const WeightCode& code, std::span<float> out) const = 0;
  /// Arrays to planes, as the artifact stores them. Fault::data for arrays that break the layout's
  /// rules.
  virtual Planes pack(const WeightCode& code) const = 0;
  /// Planes of a [rows, cols] matrix to float32: rows [row, row + count) in `out` [count, cols].
  virtual void unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                      int64_t count, std::span<float> out) const = 0;
  /// Planes back to the arrays that pack() took: the inverse, bit for bit.
  virtual std::map<std::string, Array> unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                     int64_t cols) const = 0;
  /// The planes (name, type, shape) of a [rows, cols] matrix; the artifact reader demands exactly
  /// these.
  struct PlaneSpec {
    std::string name;
    ElementType type;
    std::vector<int64_t> shape;
  };
  virtual std::vector<PlaneSpec> plane_specs(int64_t rows, int64_t cols) const = 0;
  /// Random arrays that decode to numbers of about this standard deviation: for tests of speed,
  /// memory and packing.
  virtual std::map<std::string, Array> random_arrays(int64_t rows, int64_t cols, double deviation,
                                                     Rng& rng) const = 0;
  /// Bits in the file, padding included: always 8 x the bytes of pack().
  int64_t bits(int64_t rows, int64_t cols) const;
};

/// Every layout by name with its parameters.
const std::vector<Alternative>& layout_alternatives();
/// The layout that a recipe's choice describes. Fault::user for parameters that make no sense
/// together.
std::shared_ptr<const Layout> make_layout(const Choice& choice);
/// From an artifact's record: name and parameters as JSON. Fault::data names an unknown layout.
std::shared_ptr<const Layout> make_layout(std::string_view name, std::string_view params_json);

}  // namespace cupel::format
