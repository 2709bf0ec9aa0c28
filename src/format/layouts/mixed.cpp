// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/mixed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "format/composite.h"
#include "format/planes.h"

namespace cupel::format {

MixedPart::MixedPart() : layout(layout_alternatives(), "uniform") {}

void MixedPart::visit(ParamVisitor& v) {
  v.field("layout", layout, "how its tiles are stored");
  v.field("share", share, "of the tiles").in(0, 1);
  v.field("tiles", tiles, "of this matrix; set by the method").in(0, 1e12);
}

MixedParams::MixedParams() : parts(2) {
  parts[0].share = 0.75;
  parts[1].share = 0.25;
  parts[1].layout = Choice(layout_alternatives(), "dense");
}

void MixedParams::visit(ParamVisitor& v) {
  v.field("rows", rows, "of a tile, a multiple of 16; 0 is all: groups of channels").in(0, 4096);
  v.field("cols", cols, "of a tile, a multiple of 16; 0 is all: stripes of rows").in(0, 4096);
  list_field(v, "parts", parts, "the layouts that share the matrix, cheapest first");
  v.check(rows % 16 == 0 && cols % 16 == 0, "rows and cols must be multiples of 16");
  v.check(!parts.empty() && parts.size() <= 16, "there must be 1 to 16 parts");
}

MixedLayout::MixedLayout(const MixedParams& params) : params_(params) {
  for (const MixedPart& part : params.parts) parts_.push_back(make_layout(part.layout));
}

std::string MixedLayout::description() const {
  std::string text = cat("mixed ", params_.rows == 0 ? "all" : cat(params_.rows), "x",
                         params_.cols == 0 ? "all" : cat(params_.cols), " of");
  for (std::size_t p = 0; p < parts_.size(); ++p)
    text += cat(p == 0 ? " " : ", ", parts_[p]->description());
  return text;
}

int64_t MixedLayout::tiles_down(int64_t rows) const {
  return ceil_div(rows, std::max<int64_t>(1, tile_rows(rows)));
}
int64_t MixedLayout::tiles_across(int64_t cols) const {
  return ceil_div(cols, std::max<int64_t>(1, tile_cols(cols)));
}

std::vector<int64_t> MixedLayout::tile_counts(int64_t rows, int64_t cols) const {
  const int64_t all = tiles_down(rows) * tiles_across(cols);
  std::vector<int64_t> counts;
  int64_t set = 0;
  double shares = 0;
  for (const MixedPart& p : params_.parts) {
    set += p.tiles;
    shares += p.share;
  }
  if (set > 0) {
    CUPEL_CHECK(set == all, data, "the parts of a mixed layout have ", set, " tiles, but a ", rows,
                " x ", cols, " matrix has ", all);
    for (const MixedPart& p : params_.parts) counts.push_back(p.tiles);
    return counts;
  }
  int64_t left = all;
  for (std::size_t p = params_.parts.size(); p-- > 0;) {
    const double wanted = shares > 0 ? params_.parts[p].share / shares : 0;
    const int64_t n =
        p == 0
            ? left
            : std::min(left, static_cast<int64_t>(std::llround(wanted * static_cast<double>(all))));
    counts.insert(counts.begin(), n);
    left -= n;
  }
  return counts;
}

std::vector<Layout::PlaneSpec> MixedLayout::plane_specs(int64_t rows, int64_t cols) const {
  std::vector<PlaneSpec> specs = {{"map", ElementType::u8, {tiles_down(rows), tiles_across(cols)}}};
  const auto counts = tile_counts(rows, cols);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (counts[p] > 0)
      put_specs(cat(p), parts_[p]->plane_specs(counts[p] * tile_rows(rows), tile_cols(cols)),
                specs);
  return specs;
}

std::vector<int64_t> MixedLayout::check_map(std::span<const uint8_t> map, int64_t rows,
                                            int64_t cols) const {
  const auto counts = tile_counts(rows, cols);
  std::vector<int64_t> found(counts.size());
  for (const uint8_t part : map) {
    CUPEL_CHECK(part < found.size(), data, "the map of a mixed layout names part ", int{part},
                " of ", found.size());
    ++found[part];
  }
  CUPEL_CHECK(found == counts, data, "the map of a mixed layout has ", list_text(found),
              " tiles of its parts, ", list_text(counts), " expected");
  return counts;
}

void MixedLayout::decode(const WeightCode& code, std::span<float> out) const {
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(code.rows * code.cols));
  const int64_t height = tile_rows(code.rows), width = tile_cols(code.cols);
  const auto map =
      array_of(code, "map", ElementType::u8, {tiles_down(code.rows), tiles_across(code.cols)})
          .as<uint8_t>();
  const auto counts = check_map(map, code.rows, code.cols);
  std::vector<std::vector<float>> values(parts_.size());
  std::size_t arrays = 1;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (counts[p] == 0) continue;
    const WeightCode part = part_code(code, cat(p), parts_[p], counts[p] * height, width);
    arrays += part.arrays.size();
    values[p].resize(static_cast<std::size_t>(part.rows * part.cols));
    parts_[p]->decode(part, values[p]);
  }
  CUPEL_CHECK(arrays == code.arrays.size(), data, "this mixed code must have ", arrays,
              " arrays, not ", code.arrays.size());
  each_tile(map, tiles_across(code.cols), height, width,
            [&](int part, int64_t index, int64_t row, int64_t col) {
              const int64_t cols = std::min(width, code.cols - col);
              for (int64_t r = 0; r < std::min(height, code.rows - row); ++r)
                std::memcpy(&out[static_cast<std::size_t>((row + r) * code.cols + col)],
                            &values[static_cast<std::size_t>(part)]
                                   [static_cast<std::size_t>((index * height + r) * width)],
                            static_cast<std::size_t>(cols) * 4);
            });
}

Planes MixedLayout::pack(const WeightCode& code) const {
  const Array& map =
      array_of(code, "map", ElementType::u8, {tiles_down(code.rows), tiles_across(code.cols)});
  const auto counts = check_map(map.as<uint8_t>(), code.rows, code.cols);
  Planes planes = {{"map", map}};
  std::size_t arrays = 1;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (counts[p] == 0) continue;
    const WeightCode part =
        part_code(code, cat(p), parts_[p], counts[p] * tile_rows(code.rows), tile_cols(code.cols));
    arrays += part.arrays.size();
    put_part(cat(p), parts_[p]->pack(part), planes);
  }
  CUPEL_CHECK(arrays == code.arrays.size(), data, "this mixed code must have ", arrays,
              " arrays, not ", code.arrays.size());
  return planes;
}

void MixedLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                         int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(count * cols));
  const int64_t height = tile_rows(rows), width = tile_cols(cols);
  const auto bytes =
      plane_of(planes, {"map", ElementType::u8, {tiles_down(rows), tiles_across(cols)}});
  const std::span map(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto counts = check_map(map, rows, cols);
  std::vector<PlaneViews> parts;
  for (std::size_t p = 0; p < parts_.size(); ++p) parts.push_back(take_part(cat(p), planes));
  std::vector<float> tile;
  each_tile(map, tiles_across(cols), height, width,
            [&](int part, int64_t index, int64_t first, int64_t col) {
              const int64_t from = std::max(row, first), to = std::min(row + count, first + height);
              if (from >= to) return;
              const auto p = static_cast<std::size_t>(part);
              tile.resize(static_cast<std::size_t>((to - from) * width));
              parts_[p]->unpack(parts[p], counts[p] * height, width, index * height + from - first,
                                to - from, tile);
              const int64_t wide = std::min(width, cols - col);
              for (int64_t r = from; r < to; ++r)
                std::memcpy(&out[static_cast<std::size_t>((r - row) * cols + col)],
                            &tile[static_cast<std::size_t>((r - from) * width)],
                            static_cast<std::size_t>(wide) * 4);
            });
}

std::map<std::string, Array> MixedLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                        int64_t cols) const {
  const PlaneSpec spec{"map", ElementType::u8, {tiles_down(rows), tiles_across(cols)}};
  const auto bytes = plane_of(planes, spec);
  std::map<std::string, Array> arrays;
  arrays["map"] = {spec.type, spec.shape, {bytes.begin(), bytes.end()}};
  const auto counts = check_map(arrays["map"].as<uint8_t>(), rows, cols);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (counts[p] > 0)
      put_part(cat(p),
               parts_[p]->unpack_arrays(take_part(cat(p), planes), counts[p] * tile_rows(rows),
                                        tile_cols(cols)),
               arrays);
  return arrays;
}

std::map<std::string, Array> MixedLayout::random_arrays(int64_t rows, int64_t cols,
                                                        double deviation, Rng& rng) const {
  const auto counts = tile_counts(rows, cols);
  std::vector<uint8_t> map;
  for (std::size_t p = 0; p < counts.size(); ++p)
    map.insert(map.end(), static_cast<std::size_t>(counts[p]), static_cast<uint8_t>(p));
  for (std::size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[rng.below(i)]);
  std::map<std::string, Array> arrays;
  arrays["map"] = Array::of<uint8_t>(ElementType::u8, {tiles_down(rows), tiles_across(cols)}, map);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (counts[p] > 0)
      put_part(
          cat(p),
          parts_[p]->random_arrays(counts[p] * tile_rows(rows), tile_cols(cols), deviation, rng),
          arrays);
  return arrays;
}

}  // namespace cupel::format
