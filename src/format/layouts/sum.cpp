// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/sum.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "format/composite.h"
#include "format/layouts/dense.h"
#include "format/planes.h"

namespace cupel::format {

namespace {

/// Row numbers, checked: ascending, inside the matrix.
void check_rows(std::span<const int32_t> rows, int64_t all) {
  for (std::size_t k = 0; k < rows.size(); ++k)
    CUPEL_CHECK(rows[k] >= 0 && rows[k] < all && (k == 0 || rows[k] > rows[k - 1]), data, "rows[",
                k, "] is ", rows[k], "; full rows must ascend from 0 to ", all - 1);
}

/// out[r] += (left[r] right) for rows of the base.
void add_product(const std::vector<float>& left, const std::vector<float>& right, int64_t rank,
                 int64_t count, int64_t cols, std::span<float> out) {
  std::vector<float> sum(static_cast<std::size_t>(cols));
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t k = 0; k < rank; ++k) {
      const float l = left[static_cast<std::size_t>(r * rank + k)];
      const float* from = &right[static_cast<std::size_t>(k * cols)];
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = (k == 0 ? 0 : sum[i]) + l * from[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      out[static_cast<std::size_t>(r * cols) + i] += sum[i];
  }
}

std::vector<float> buffer(int64_t rows, int64_t cols) {
  return std::vector<float>(static_cast<std::size_t>(rows * cols));
}

}  // namespace

SumParams::SumParams()
    : base(layout_alternatives(), "lut"), factors(layout_alternatives(), "dense") {
  auto half = std::make_shared<DenseParams>();
  half->type = ElementType::f16;
  factors.params = half;
}

void SumParams::visit(ParamVisitor& v) {
  v.field("base", base, "the quantized part");
  v.field("rank", rank, "of the low-rank part; 0 is none").in(0, 4096);
  v.field("factors", factors, "how the two factors are stored");
  v.field("full_rows", full_rows, "outputs whose whole row is kept in float16").in(0, 1e9);
}

SumLayout::SumLayout(const SumParams& params)
    : params_(params), base_(make_layout(params.base)), factors_(make_layout(params.factors)) {}

std::string SumLayout::description() const {
  std::string text = base_->description();
  if (params_.rank > 0) text += cat(" + rank ", params_.rank);
  if (params_.full_rows > 0) text += cat(" + ", params_.full_rows, " rows");
  return text;
}

int64_t SumLayout::rank(int64_t rows, int64_t cols) const {
  return std::min({int64_t{params_.rank}, rows, cols});
}
int64_t SumLayout::full_rows(int64_t rows) const {
  return std::min(params_.full_rows, rows);
}

std::vector<Layout::PlaneSpec> SumLayout::plane_specs(int64_t rows, int64_t cols) const {
  std::vector<PlaneSpec> specs;
  put_specs("base", base_->plane_specs(rows, cols), specs);
  const int64_t r = rank(rows, cols), n = full_rows(rows);
  if (r > 0) {
    put_specs("left", factors_->plane_specs(rows, r), specs);
    put_specs("right", factors_->plane_specs(r, cols), specs);
  }
  if (n > 0) {
    specs.push_back({"rows", ElementType::i32, {1, n}});
    specs.push_back({"row_values", ElementType::f16, {n, cols}});
  }
  return specs;
}

void SumLayout::decode(const WeightCode& code, std::span<float> out) const {
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(code.rows * code.cols));
  base_->decode(part_code(code, "base", base_, code.rows, code.cols), out);
  const int64_t r = rank(code.rows, code.cols), n = full_rows(code.rows);
  if (r > 0) {
    auto left = buffer(code.rows, r), right = buffer(r, code.cols);
    factors_->decode(part_code(code, "left", factors_, code.rows, r), left);
    factors_->decode(part_code(code, "right", factors_, r, code.cols), right);
    add_product(left, right, r, code.rows, code.cols, out);
  }
  if (n == 0) return;
  const auto rows = array_of(code, "rows", ElementType::i32, {1, n}).as<int32_t>();
  const auto values = array_of(code, "row_values", ElementType::f16, {n, code.cols}).as<uint16_t>();
  check_rows(rows, code.rows);
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (int64_t i = 0; i < code.cols; ++i) {
      const float value =
          f16_to_f32(values[k * static_cast<std::size_t>(code.cols) + static_cast<std::size_t>(i)]);
      CUPEL_CHECK(std::isfinite(value), data, "row_values[", k, ", ", i, "] is not finite");
      out[static_cast<std::size_t>(rows[k] * code.cols + i)] = value;
    }
}

Planes SumLayout::pack(const WeightCode& code) const {
  auto checked = buffer(code.rows, code.cols);
  decode(code, checked);
  Planes planes;
  put_part("base", base_->pack(part_code(code, "base", base_, code.rows, code.cols)), planes);
  const int64_t r = rank(code.rows, code.cols);
  if (r > 0) {
    put_part("left", factors_->pack(part_code(code, "left", factors_, code.rows, r)), planes);
    put_part("right", factors_->pack(part_code(code, "right", factors_, r, code.cols)), planes);
  }
  if (full_rows(code.rows) > 0)
    for (const char* name : {"rows", "row_values"}) planes[name] = code.arrays.at(name);
  return planes;
}

void SumLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                       int64_t count, std::span<float> out) const {
  base_->unpack(take_part("base", planes), rows, cols, row, count, out);
  const int64_t r = rank(rows, cols), n = full_rows(rows);
  if (r > 0) {
    auto left = buffer(count, r), right = buffer(r, cols);
    factors_->unpack(take_part("left", planes), rows, r, row, count, left);
    factors_->unpack(take_part("right", planes), r, cols, 0, r, right);
    add_product(left, right, r, count, cols, out);
  }
  if (n == 0) return;
  const std::byte* numbers = plane_of(planes, {"rows", ElementType::i32, {1, n}}).data();
  const std::byte* values = plane_of(planes, {"row_values", ElementType::f16, {n, cols}}).data();
  for (int64_t k = 0; k < n; ++k) {
    int32_t o;
    std::memcpy(&o, numbers + 4 * k, 4);
    if (o < row || o >= row + count) continue;
    for (int64_t i = 0; i < cols; ++i) {
      uint16_t half;
      std::memcpy(&half, values + 2 * (k * cols + i), 2);
      out[static_cast<std::size_t>((o - row) * cols + i)] = f16_to_f32(half);
    }
  }
}

std::map<std::string, Array> SumLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                      int64_t cols) const {
  std::map<std::string, Array> arrays;
  put_part("base", base_->unpack_arrays(take_part("base", planes), rows, cols), arrays);
  const int64_t r = rank(rows, cols), n = full_rows(rows);
  if (r > 0) {
    put_part("left", factors_->unpack_arrays(take_part("left", planes), rows, r), arrays);
    put_part("right", factors_->unpack_arrays(take_part("right", planes), r, cols), arrays);
  }
  if (n == 0) return arrays;
  for (const PlaneSpec& spec : {PlaneSpec{"rows", ElementType::i32, {1, n}},
                                PlaneSpec{"row_values", ElementType::f16, {n, cols}}}) {
    const auto bytes = plane_of(planes, spec);
    arrays[spec.name] = {spec.type, spec.shape, {bytes.begin(), bytes.end()}};
  }
  return arrays;
}

std::map<std::string, Array> SumLayout::random_arrays(int64_t rows, int64_t cols, double deviation,
                                                      Rng& rng) const {
  std::map<std::string, Array> arrays;
  put_part("base", base_->random_arrays(rows, cols, deviation, rng), arrays);
  const int64_t r = rank(rows, cols), n = full_rows(rows);
  if (r > 0) {
    const double factor = std::sqrt(0.1 * deviation / std::sqrt(static_cast<double>(r)));
    put_part("left", factors_->random_arrays(rows, r, factor, rng), arrays);
    put_part("right", factors_->random_arrays(r, cols, factor, rng), arrays);
  }
  if (n == 0) return arrays;
  std::vector<int32_t> numbers;
  for (int64_t k = 0; k < n; ++k) numbers.push_back(static_cast<int32_t>(k * rows / n));
  std::vector<uint16_t> values(static_cast<std::size_t>(n * cols));
  for (uint16_t& v : values) v = f32_to_f16(static_cast<float>(deviation * rng.normal()));
  arrays["rows"] = Array::of<int32_t>(ElementType::i32, {1, n}, numbers);
  arrays["row_values"] = Array::of<uint16_t>(ElementType::f16, {n, cols}, values);
  return arrays;
}

}  // namespace cupel::format
