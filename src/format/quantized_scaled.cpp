// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/quantized_scaled.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace cupel::format {
namespace {

using enum ElementType;

int64_t slabs_of(const std::vector<int64_t>& shape) {
  return shape.size() == 3 ? shape.front() : 1;
}

std::size_t product(std::initializer_list<int64_t> sizes, const char* what) {
  std::size_t n = 1;
  for (const int64_t size : sizes) n = checked_mul(n, static_cast<std::size_t>(size), what);
  return n;
}

class ScaledTensor final : public StoredTensor {
 public:
  explicit ScaledTensor(ScaledParts parts)
      : StoredTensor(parts.name, parts.shape, parts.stored_as, entries_of(parts)),
        parts_(std::move(parts)),
        rows_(shape[shape.size() - 2]),
        cols_(shape.back()),
        grid_rows_(ceil_div(rows_, parts_.block.rows)),
        grid_cols_(ceil_div(cols_, parts_.block.cols)) {
    const std::size_t grid = product({grid_rows_, grid_cols_}, "number of scales");
    const std::size_t all = product({slabs(), grid_rows_, grid_cols_}, "number of scales");
    check_bytes(*parts_.elements, parts_.type,
                product({slabs(), rows_, cols_}, "size of a tensor"));
    shared_ = static_cast<std::size_t>(parts_.scales->elements()) == grid;
    check_bytes(*parts_.scales, parts_.scale_type, shared_ ? grid : all);
    if (parts_.zeros) check_bytes(*parts_.zeros, parts_.zeros->type, shared_ ? grid : all);
  }

  bool output_major() const override { return parts_.output_major; }

  void read(int64_t slab, std::span<float> out) const override {
    CUPEL_ASSERT(slab >= 0 && slab < slabs() &&
                 out.size() == static_cast<std::size_t>(slab_elements()));
    to_float(parts_.type, part_of(*parts_.elements, slab, slabs()), out);
    const std::vector<float> scales = grid_numbers(*parts_.scales, parts_.scale_type, slab);
    std::vector<float> zeros;
    if (parts_.zeros) zeros = grid_numbers(*parts_.zeros, parts_.zeros->type, slab);
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t g = 0; g < grid_cols_; ++g) {
        const auto at = static_cast<std::size_t>(r / parts_.block.rows * grid_cols_ + g);
        const float scale = scales[at] * parts_.multiplier / parts_.divisor;
        const float zero = zeros.empty() ? 0 : zeros[at];
        const int64_t begin = g * parts_.block.cols;
        const int64_t count = std::min(parts_.block.cols, cols_ - begin);
        float* values = out.data() + r * cols_ + begin;
        for (int64_t c = 0; c < count; ++c) values[c] = (values[c] - zero) * scale;
      }
  }

 private:
  static std::vector<const TensorEntry*> entries_of(const ScaledParts& parts) {
    std::vector<const TensorEntry*> all{parts.elements, parts.scales};
    for (const TensorEntry* entry : {parts.zeros, parts.tensor_scale})
      if (entry) all.push_back(entry);
    return all;
  }

  static void check_bytes(const TensorEntry& entry, ElementType type, std::size_t count) {
    const std::size_t bytes = stored_bytes(type, count);
    CUPEL_CHECK(entry.bytes.size() == bytes, data, "tensor '", entry.name, "' has ",
                entry.bytes.size(), " bytes, ", bytes, " expected for ", count, " numbers");
  }

  static std::span<const std::byte> part_of(const TensorEntry& entry, int64_t part, int64_t parts) {
    const std::size_t size = entry.bytes.size() / static_cast<std::size_t>(parts);
    return entry.bytes.subspan(static_cast<std::size_t>(part) * size, size);
  }

  std::vector<float> grid_numbers(const TensorEntry& entry, ElementType type, int64_t slab) const {
    std::vector<float> out(static_cast<std::size_t>(grid_rows_ * grid_cols_));
    to_float(type, shared_ ? entry.bytes : part_of(entry, slab, slabs()), out);
    return out;
  }

  const ScaledParts parts_;
  const int64_t rows_, cols_, grid_rows_, grid_cols_;
  bool shared_ = false;  ///< all slabs have the same scales
};

/// Rows and columns of the scales of one slab.
std::optional<ScaleBlock> grid_of(const std::vector<int64_t>& scales, int64_t slabs, bool fused) {
  const auto ones = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t size) { return size == 1; });
  };
  if (ones(scales)) return ScaleBlock{1, 1};
  if (fused) {
    if (scales == std::vector{slabs}) return ScaleBlock{1, 1};
    if (scales.size() == 2 && scales[0] == slabs) return ScaleBlock{scales[1], 1};
    if (scales.size() == 3 && scales[0] == slabs) return ScaleBlock{scales[1], scales[2]};
    return std::nullopt;
  }
  if (scales.size() == 1) return ScaleBlock{scales[0], 1};
  if (scales.size() == 2) return ScaleBlock{scales[0], scales[1]};
  // Some writers keep an axis of one behind each axis of blocks.
  if (scales.size() == 4 && scales[1] == 1 && scales[3] == 1)
    return ScaleBlock{scales[0], scales[2]};
  return std::nullopt;
}

bool is_fp8(ElementType type) {
  return type == f8_e4m3 || type == f8_e5m2 || type == f8_e4m3fnuz || type == f8_e5m2fnuz;
}

std::string described(std::string_view kind, ScaleBlock block, int64_t rows, int64_t cols) {
  if (block == ScaleBlock{rows, cols}) return cat(kind, " with one scale");
  if (block == ScaleBlock{1, cols}) return cat(kind, " with a scale per row");
  if (block.rows == 1) return cat(kind, " in groups of ", block.cols);
  return cat(kind, " in blocks of ", block.rows, " x ", block.cols);
}

void check_matrix(const TensorEntry& entry) {
  check_axes(entry, entry.shape.size() == 3 ? 3 : 2);
}

ScaledParts plain_parts(std::string_view kind, const TensorEntry& elements,
                        const TensorEntry& scales, std::span<const ScaleBlock> known) {
  check_matrix(elements);
  check_type(scales, {f32, f16, bf16, f8_e8m0, u8});
  ScaledParts parts{.name = elements.name, .shape = elements.shape};
  parts.elements = &elements;
  parts.type = elements.type;
  parts.scales = &scales;
  parts.scale_type = scales.type == u8 ? f8_e8m0 : scales.type;
  parts.block = block_of(scales, elements, known);
  parts.stored_as = described(kind, parts.block, elements.shape[elements.shape.size() - 2],
                              elements.shape.back());
  return parts;
}

}  // namespace

std::unique_ptr<StoredTensor> make_scaled(ScaledParts parts) {
  return std::make_unique<ScaledTensor>(std::move(parts));
}

ScaleBlock block_of(const TensorEntry& scales, const TensorEntry& elements,
                    std::span<const ScaleBlock> known) {
  const int64_t rows = elements.shape[elements.shape.size() - 2], cols = elements.shape.back();
  const auto grid = grid_of(scales.shape, slabs_of(elements.shape), elements.shape.size() == 3);
  const auto fits = [&](ScaleBlock b) {
    return grid && grid->rows == ceil_div(rows, b.rows) && grid->cols == ceil_div(cols, b.cols);
  };
  if (scales.shape.size() < 2 && scales.elements() == 1) return {rows, cols};
  std::vector<ScaleBlock> found;
  for (const ScaleBlock b : known)
    if (fits(b) && std::find(found.begin(), found.end(), b) == found.end()) found.push_back(b);
  if (found.empty())
    for (const ScaleBlock b : {ScaleBlock{rows, cols}, ScaleBlock{1, cols}})
      if (fits(b)) found.push_back(b);
  std::string blocks;
  for (const ScaleBlock b : known) blocks += cat(", ", b.rows, " x ", b.cols);
  CUPEL_CHECK(!found.empty(), data, "scales '", scales.name, "' of the shape ",
              list_text(scales.shape), " do not cover '", elements.name, "' of ",
              list_text(elements.shape), " (blocks: everything, a row", blocks, ")");
  const bool same = grid->rows == 1 && grid->cols == 1;
  CUPEL_CHECK(found.size() == 1 || same, data, "scales '", scales.name, "' of the shape ",
              list_text(scales.shape), " fit several block sizes", blocks);
  return found.front();
}

void take_fp8(SchemeInput& in, std::span<const ScaleBlock> known) {
  for (const TensorEntry& t : in.entries()) {
    if (!is_fp8(t.type) || in.taken(t)) continue;
    const TensorEntry *inverse = in.find(t.name + "_scale_inv"),
                      *scale = in.find(t.name + "_scale");
    CUPEL_CHECK(!inverse || !scale, data, "FP8 tensor '", t.name, "' has both '", t.name,
                "_scale_inv' and '", t.name, "_scale'");
    const TensorEntry* scales = inverse ? inverse : scale;
    CUPEL_CHECK(scales, data, "FP8 tensor '", t.name, "' has no scales ('", t.name,
                "_scale_inv' or '", t.name, "_scale' expected)");
    in.add(make_scaled(plain_parts("fp8", t, *scales, known)));
  }
}

void take_int8(SchemeInput& in, std::span<const ScaleBlock> known) {
  for (const TensorEntry& t : in.entries()) {
    if (t.type != i8 || in.taken(t)) continue;
    const TensorEntry* scales = in.find(t.name + "_scale");
    if (!scales) continue;
    ScaledParts parts = plain_parts("int8", t, *scales, known);
    check_type(*scales, {f32, f16, bf16});
    parts.zeros = in.find(t.name + "_zero_point");
    if (parts.zeros) {
      check_type(*parts.zeros, {i8});
      check_shape(*parts.zeros, scales->shape);
    }
    in.add(make_scaled(std::move(parts)));
  }
}

ScaledParts fp4_parts(const std::string& name, const TensorEntry& codes,
                      const TensorEntry& scales) {
  check_type(codes, {u8});
  check_type(scales, {f8_e4m3, u8, f8_e8m0});
  check_matrix(codes);
  const bool nv = scales.type == f8_e4m3;
  ScaledParts parts{.name = name, .shape = codes.shape, .stored_as = nv ? "nvfp4" : "mxfp4"};
  parts.shape.back() = static_cast<int64_t>(
      checked_mul(static_cast<std::size_t>(codes.shape.back()), 2, "size of a tensor"));
  parts.block = {1, nv ? 16 : 32};
  std::vector<int64_t> grid = parts.shape;
  grid.back() = ceil_div(grid.back(), parts.block.cols);
  check_shape(scales, grid);
  parts.elements = &codes;
  parts.type = f4;
  parts.scales = &scales;
  parts.scale_type = nv ? f8_e4m3 : f8_e8m0;
  return parts;
}

}  // namespace cupel::format
