// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/params.h"
#include "format/layout.h"

namespace cupel::core {

// Axes: o outputs (rows of a weight), i inputs (its columns), g groups of inputs that share a
// scale, d inputs of a tile.

/// How much errors count when scales and tables are fitted and tiles are given their layouts.
/// Float32 on the host, none negative; undefined: all count the same.
struct Metric {
  at::Tensor weight;  ///< [i] for every output alike, or [o, i]
  at::Tensor tile_i;  ///< for the choice of a tile's layout where it differs from `weight`: what an
                      ///< error costs after feedback
  /// Weights of row o, or of all ones; `ones` must hold the width of the matrix.
  const float* row(int64_t o, const std::vector<float>& ones) const;
};

/// What a code rounds as one: a scalar grid 1 x 1, a vector code 1 x d, a trellis rows x d.
struct TileShape {
  int rows = 1;
  int cols = 1;
};

/// Tiles above each other: inputs [col, col + cols) of rows [row, row + rows). Values lie input by
/// input: that of row `row + r` and input `col + c` is at [c * stride + r].
struct TileColumn {
  int64_t row, rows, col, cols, stride;
  const float* target;
  float* value;  ///< out: what the codes decode to, as the layout's decode() gives it
  const double* metric_dd = nullptr;  ///< an error e costs e^T D e (null: e^T e), if the code cares
};

class Levels;

/// How a code of scalars rounds a target x of an output o and an input i, as tensors: for engines
/// that round whole matrices elsewhere (kernels::cuda::ScalarRule has the formulas). Block b of
/// outputs holds `block_rows` of them, group g of inputs `group_width`; float32.
struct ScalarRounding {
  at::Tensor step_bg, scale_bg;
  at::Tensor zero_bg;                    ///< integers alone
  float top = 0;                         ///< integers: the highest code
  std::shared_ptr<const Levels> levels;  ///< null: integers
  at::Tensor sign_bg;                    ///< levels alone
  at::Tensor outer_o;                    ///< [o], [1] for one for all, or undefined
  int64_t block_rows = 1, group_width = 1;
};

/// One matrix in the making: everything that its codes share (scales, zeros, tables) is fitted and
/// on its stored grid; the codes are filled tile by tile, in any order; a tile that is filled again
/// gets new codes.
class Encoding {
 public:
  virtual ~Encoding() = default;
  /// Host memory. Calls for different rows may run at the same time.
  virtual void encode(const TileColumn& tiles) = 0;
  /// The same for all rows at once where the tensors live, target and result [d, o]; not
  /// thread-safe. The default goes through the host.
  virtual at::Tensor encode_on_device(int64_t col, const at::Tensor& target_do,
                                      const double* metric_dd);
  /// The rule of a code of scalars; codes that have none are rounded through encode().
  virtual std::optional<ScalarRounding> scalar_rounding() const { return std::nullopt; }
  /// All codes at once, uint8 [o, i] on any device, as the rule gives them. For codes that have
  /// one.
  virtual void set_codes(const at::Tensor& code_oi);
  /// Call once, after the last tile.
  virtual format::WeightCode finish() = 0;
};

/// The codebook of a layout as an optimiser sees it: what to fit, how to round, never how bits are
/// packed. A new kind of code needs its class and a line in make_code(); the feedback engine and
/// the methods stay as they are.
class Code {
 public:
  virtual ~Code() = default;
  virtual TileShape tile() const { return {}; }
  /// Fits scales to w_oi (finite, float32, on any device) under the metric. They are stored values
  /// already: errors are measured, and codes chosen, with exactly what a reader will multiply by.
  virtual std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const = 0;
};

/// How scales are chosen, always among those that can be stored. `minmax`: from the extremes of the
/// group. `mse`: the best of a fixed set of clippings under the metric, then refitted to its codes
/// by least squares. `exact`: the best of all (grids with a scale per block of a row).
/// `four-over-six`: the better of two, extremes on the largest and on the second largest level.
enum class ScaleRule { minmax, mse, exact, four_over_six };
const EnumNames& scale_rule_names();

/// The code of a layout, by the list of codes (codes.cpp). Fault::user names a layout that no
/// optimiser here knows.
std::unique_ptr<Code> make_code(std::shared_ptr<const format::Layout> layout, ScaleRule rule);

/// What a code decodes to, input transform not undone: float32 [o, i] on the host.
at::Tensor decode(const format::WeightCode& code);

}  // namespace cupel::core
