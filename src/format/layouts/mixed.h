// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/layout.h"

namespace cupel::format {

/// One of the layouts that share a matrix.
struct MixedPart : Params {
  Choice layout;
  double share = 0.5;  ///< of the tiles: what an encoder aims at
  int64_t tiles = 0;   ///< of this matrix; the encoder sets it
  MixedPart();
  void visit(ParamVisitor& v) override;
};

struct MixedParams : Params {
  int64_t rows = 16;  ///< of a tile; 0 is all: groups of channels
  int64_t cols = 0;   ///< of a tile; 0 is all: stripes of rows
  std::vector<MixedPart> parts;
  MixedParams();
  void visit(ParamVisitor& v) override;
};

/// A matrix cut into tiles of equal size, each in one of several layouts: stripes of rows, groups
/// of channels, or two-dimensional tiles. The tiles of a part lie above each other in row-major
/// order and are one matrix [tiles * rows, cols] of its layout; tiles at the edge are padded.
/// Source: the TileQuant seed and SqueezeLLM-like mixtures; our layout.
///
/// Arrays and planes: map u8 [tile rows, tile cols] (which part), and those of part p as "p.NAME".
class MixedLayout : public Layout {
 public:
  explicit MixedLayout(const MixedParams& params);
  std::string name() const override { return "mixed"; }
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

  const std::vector<std::shared_ptr<const Layout>>& parts() const { return parts_; }
  const MixedParams& settings() const { return params_; }
  int64_t tile_rows(int64_t rows) const { return params_.rows == 0 ? rows : params_.rows; }
  int64_t tile_cols(int64_t cols) const { return params_.cols == 0 ? cols : params_.cols; }
  int64_t tiles_down(int64_t rows) const;
  int64_t tiles_across(int64_t cols) const;
  /// Tiles of each part: as set, or by the shares (what is left goes to the first part).
  std::vector<int64_t> tile_counts(int64_t rows, int64_t cols) const;

 private:
  std::vector<int64_t> check_map(std::span<const uint8_t> map, int64_t rows, int64_t cols) const;
  MixedParams params_;
  std::vector<std::shared_ptr<const Layout>> parts_;
};

/// Visits the tiles in row-major order: visit(part, index in the part, first row, first column).
template <class Visit>
void each_tile(std::span<const uint8_t> map, int64_t across, int64_t tile_rows, int64_t tile_cols,
               Visit&& visit) {
  int64_t seen[256] = {};
  for (std::size_t t = 0; t < map.size(); ++t) {
    const auto at = static_cast<int64_t>(t);
    visit(map[t], seen[map[t]]++, at / across * tile_rows, at % across * tile_cols);
  }
}

}  // namespace cupel::format
