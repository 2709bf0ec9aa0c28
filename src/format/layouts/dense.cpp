// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/dense.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"

namespace cupel::format {

namespace {

const EnumNames kTypes = {{"f32", static_cast<int>(ElementType::f32)},
                          {"f16", static_cast<int>(ElementType::f16)},
                          {"bf16", static_cast<int>(ElementType::bf16)}};

std::size_t element_bytes(ElementType type) {
  return static_cast<std::size_t>(traits(type).bytes);
}

const Array& values_of(const WeightCode& code, ElementType type) {
  const auto found = code.arrays.find("values");
  CUPEL_CHECK(found != code.arrays.end() && code.arrays.size() == 1, data,
              "a dense code has one array, 'values'");
  const Array& a = found->second;
  const std::vector<int64_t> shape = {code.rows, code.cols};
  CUPEL_CHECK(
      a.type == type && a.shape == shape &&
          a.bytes.size() == static_cast<std::size_t>(code.rows * code.cols) * element_bytes(type),
      data, "dense values must be ", traits(type).name, " ", list_text(shape), ", not ",
      traits(a.type).name, " ", list_text(a.shape), " in ", a.bytes.size(), " bytes");
  return a;
}

std::span<const std::byte> values_of(const PlaneViews& planes, ElementType type, int64_t rows,
                                     int64_t cols) {
  const auto found = planes.find("values");
  CUPEL_CHECK(found != planes.end(), data, "the plane 'values' is missing");
  const std::size_t expected = static_cast<std::size_t>(rows * cols) * element_bytes(type);
  CUPEL_CHECK(found->second.bytes.size() == expected, data, "the plane 'values' has ",
              found->second.bytes.size(), " bytes, ", expected, " expected");
  return found->second.bytes;
}

void check_finite(const Array& values, int64_t cols) {
  std::vector<float> row(static_cast<std::size_t>(cols));
  const std::size_t row_bytes = row.size() * element_bytes(values.type);
  for (std::size_t at = 0; at < values.bytes.size(); at += row_bytes) {
    to_float(values.type, std::span(values.bytes).subspan(at, row_bytes), row);
    for (std::size_t i = 0; i < row.size(); ++i)
      CUPEL_CHECK(std::isfinite(row[i]), data, "value [", at / row_bytes, ", ", i,
                  "] is not finite");
  }
}

}  // namespace

void DenseParams::visit(ParamVisitor& v) {
  v.field("type", type, kTypes, "type of an element");
}

std::string DenseLayout::description() const {
  return std::string(traits(params_.type).name);
}

void DenseLayout::decode(const WeightCode& code, std::span<float> out) const {
  to_float(params_.type, values_of(code, params_.type).bytes, out);
}

Planes DenseLayout::pack(const WeightCode& code) const {
  const Array& values = values_of(code, params_.type);
  check_finite(values, code.cols);
  return {{"values", values}};
}

void DenseLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                         int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  const std::size_t row_bytes = static_cast<std::size_t>(cols) * element_bytes(params_.type);
  const auto bytes = values_of(planes, params_.type, rows, cols);
  to_float(params_.type,
           bytes.subspan(static_cast<std::size_t>(row) * row_bytes,
                         static_cast<std::size_t>(count) * row_bytes),
           out);
}

std::map<std::string, Array> DenseLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                        int64_t cols) const {
  const auto bytes = values_of(planes, params_.type, rows, cols);
  return {{"values", Array::of(params_.type, {rows, cols}, bytes)}};
}

std::vector<Layout::PlaneSpec> DenseLayout::plane_specs(int64_t rows, int64_t cols) const {
  return {{"values", params_.type, {rows, cols}}};
}

WeightCode dense_code(ElementType type, int64_t rows, int64_t cols, std::span<const float> values) {
  CUPEL_ASSERT(values.size() == static_cast<std::size_t>(rows * cols));
  DenseParams params;
  params.type = type;
  WeightCode code;
  code.layout = std::make_shared<DenseLayout>(params);
  code.rows = rows;
  code.cols = cols;
  Array array{type, {rows, cols}, std::vector<std::byte>(values.size() * element_bytes(type))};
  if (type == ElementType::f32) {
    if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  } else {
    CUPEL_CHECK(type == ElementType::f16 || type == ElementType::bf16, internal,
                "a dense weight can't be stored as ", traits(type).name);
    auto* out = reinterpret_cast<uint16_t*>(array.bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i] = type == ElementType::f16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
  }
  code.arrays.emplace("values", std::move(array));
  return code;
}

std::map<std::string, Array> DenseLayout::random_arrays(int64_t rows, int64_t cols,
                                                        double deviation, Rng& rng) const {
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (float& x : values) x = static_cast<float>(deviation * rng.normal());
  return dense_code(params_.type, rows, cols, values).arrays;
}

}  // namespace cupel::format
