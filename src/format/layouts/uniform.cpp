// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Axes: o outputs (rows), i inputs (cols), g groups of inputs.
#include "format/layouts/uniform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "format/planes.h"

namespace cupel::format {

namespace {

/// The arrays of a code; `zeros` is nullptr when symmetric.
struct Arrays {
  const uint8_t* codes;
  const uint16_t* scales;
  const uint8_t* zeros = nullptr;
};

Arrays arrays_of(const WeightCode& code, bool symmetric, int64_t groups) {
  const std::vector<int64_t> shared = {code.rows, groups};
  Arrays a{array_of(code, "codes", ElementType::u8, {code.rows, code.cols}).as<uint8_t>().data(),
           array_of(code, "scales", ElementType::f16, shared).as<uint16_t>().data()};
  if (!symmetric) a.zeros = array_of(code, "zeros", ElementType::u8, shared).as<uint8_t>().data();
  const std::size_t expected = symmetric ? 2 : 3;
  CUPEL_CHECK(code.arrays.size() == expected, data, "this uniform code must have ", expected,
              " arrays, not ", code.arrays.size());
  return a;
}

void check_range(const uint8_t* values, int64_t rows, int64_t cols, int bits, const char* name) {
  uint8_t all = 0;
  for (int64_t i = 0; i < rows * cols; ++i) all |= values[i];
  if ((all >> bits) == 0) return;
  int64_t i = 0;
  while ((values[i] >> bits) == 0) ++i;
  fail(Fault::data, name, "[", i / cols, ", ", i % cols, "] is ", int{values[i]},
       ", which needs more than ", bits, " bits");
}

void check_scales(const uint16_t* scales, int64_t rows, int64_t groups) {
  constexpr uint16_t kExponent = 0x7c00;
  for (int64_t i = 0; i < rows * groups; ++i)
    CUPEL_CHECK((scales[i] & kExponent) != kExponent, data, "scales[", i / groups, ", ", i % groups,
                "] is not finite");
}

/// Views of the planes, sizes checked; `zeros` is nullptr when symmetric.
struct Views {
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;
  const uint8_t* zeros = nullptr;
  float scale(int64_t i) const {
    uint16_t half;
    std::memcpy(&half, scales + 2 * i, 2);
    return f16_to_f32(half);
  }
};

Views views_of(const PlaneViews& planes, const std::vector<Layout::PlaneSpec>& specs) {
  Views views;
  for (const auto& spec : specs) {
    const std::byte* bytes = plane_of(planes, spec).data();
    if (spec.name == "codes") views.codes = bytes;
    if (spec.name == "scales") views.scales = bytes;
    if (spec.name == "zeros") views.zeros = reinterpret_cast<const uint8_t*>(bytes);
  }
  return views;
}

}  // namespace

void UniformParams::visit(ParamVisitor& v) {
  v.field("bits", bits, "bits of a code").in(1, 8);
  v.field("group", group, "inputs that share a scale; 0 is the whole row").in(0, 1024);
  v.field("symmetric", symmetric, "zero is the middle code; otherwise each group stores its own");
  v.check(group == 0 || (group >= 32 && std::has_single_bit(static_cast<unsigned>(group))),
          "group must be 0, 32, 64, 128, 256, 512 or 1024");
}

UniformLayout::UniformLayout(const UniformParams& params) : params_(params) {
  const int group = params.group;
  CUPEL_CHECK(params.bits >= 1 && params.bits <= 8, user, "layout uniform: 'bits' must lie in ",
              "[1, 8], not ", params.bits);
  CUPEL_CHECK(
      group == 0 ||
          (group >= 32 && group <= 1024 && std::has_single_bit(static_cast<unsigned>(group))),
      user, "layout uniform: 'group' must be 0, 32, 64, 128, 256, 512 or 1024, not ", group);
}

std::string UniformLayout::description() const {
  return cat(params_.bits, "-bit ", params_.group == 0 ? "row" : cat("g", params_.group),
             params_.symmetric ? " sym" : " asym");
}

void UniformLayout::decode(const WeightCode& code, std::span<float> out) const {
  const int64_t width = group_width(code.cols), n_groups = groups(code.cols);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(code.rows * code.cols));
  const Arrays a = arrays_of(code, params_.symmetric, n_groups);
  for (int64_t o = 0; o < code.rows; ++o)
    for (int64_t g = 0; g < n_groups; ++g) {
      const float scale = f16_to_f32(a.scales[o * n_groups + g]);
      const int zero = a.zeros ? a.zeros[o * n_groups + g] : 1 << (params_.bits - 1);
      const int64_t end = o * code.cols + std::min((g + 1) * width, code.cols);
      for (int64_t i = o * code.cols + g * width; i < end; ++i)
        out[static_cast<std::size_t>(i)] = scale * static_cast<float>(a.codes[i] - zero);
    }
}

Planes UniformLayout::pack(const WeightCode& code) const {
  const int64_t rows = code.rows, cols = code.cols, width = group_width(cols);
  const int64_t n_groups = groups(cols);
  const Arrays a = arrays_of(code, params_.symmetric, n_groups);
  check_range(a.codes, rows, cols, params_.bits, "codes");
  check_scales(a.scales, rows, n_groups);
  if (a.zeros) check_range(a.zeros, rows, n_groups, params_.bits, "zeros");

  Planes planes = empty_planes(plane_specs(rows, cols));
  to_stripes(a.scales, 2, rows, n_groups, planes.at("scales").bytes.data());
  if (a.zeros) to_stripes(a.zeros, 1, rows, n_groups, planes.at("zeros").bytes.data());
  const auto middle = static_cast<uint8_t>(1 << (params_.bits - 1));
  const auto zero_point = [&](int64_t row, int64_t input) {
    if (!a.zeros) return middle;
    return row < rows ? a.zeros[row * n_groups + input / width] : uint8_t{0};
  };
  pack_codes(a.codes, rows, cols, params_.bits, zero_point, planes.at("codes").bytes.data());
  return planes;
}

void UniformLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                           int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(count * cols));
  const Views views = views_of(planes, plane_specs(rows, cols));
  const int64_t width = group_width(cols), n_groups = groups(cols);
  const int middle = 1 << (params_.bits - 1);
  std::vector<uint8_t> codes(out.size());
  unpack_codes(views.codes, cols, params_.bits, row, count, codes.data());
  for (int64_t r = 0; r < count; ++r)
    for (int64_t g = 0; g < n_groups; ++g) {
      const int64_t o = row + r, shared = (o / kStripe * n_groups + g) * kStripe + o % kStripe;
      const float scale = views.scale(shared);
      const int zero = views.zeros ? views.zeros[shared] : middle;
      for (int64_t i = g * width, end = std::min(i + width, cols); i < end; ++i)
        out[static_cast<std::size_t>(r * cols + i)] =
            scale * static_cast<float>(codes[static_cast<std::size_t>(r * cols + i)] - zero);
    }
}

std::map<std::string, Array> UniformLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                          int64_t cols) const {
  const Views views = views_of(planes, plane_specs(rows, cols));
  const int64_t n_groups = groups(cols);
  std::map<std::string, Array> arrays;
  arrays["codes"] = empty_array(ElementType::u8, {rows, cols});
  unpack_codes(views.codes, cols, params_.bits, 0, rows,
               reinterpret_cast<uint8_t*>(arrays["codes"].bytes.data()));
  arrays["scales"] = empty_array(ElementType::f16, {rows, n_groups});
  from_stripes(views.scales, 2, rows, n_groups, arrays["scales"].bytes.data());
  if (!views.zeros) return arrays;
  arrays["zeros"] = empty_array(ElementType::u8, {rows, n_groups});
  from_stripes(views.zeros, 1, rows, n_groups, arrays["zeros"].bytes.data());
  return arrays;
}

std::vector<Layout::PlaneSpec> UniformLayout::plane_specs(int64_t rows, int64_t cols) const {
  const int64_t stripes = ceil_div(rows, kStripe), n_groups = groups(cols);
  std::vector<PlaneSpec> specs = {
      {"codes", ElementType::u8, code_plane_shape(rows, cols, params_.bits)},
      {"scales", ElementType::f16, {stripes, n_groups, kStripe}}};
  if (!params_.symmetric) specs.push_back({"zeros", ElementType::u8, {stripes, n_groups, kStripe}});
  return specs;
}

std::map<std::string, Array> UniformLayout::random_arrays(int64_t rows, int64_t cols,
                                                          double deviation, Rng& rng) const {
  const int64_t n_groups = groups(cols);
  const auto shared = static_cast<std::size_t>(rows * n_groups);
  std::map<std::string, Array> arrays;
  arrays["codes"] =
      Array::of<uint8_t>(ElementType::u8, {rows, cols},
                         random_bytes(static_cast<std::size_t>(rows * cols), params_.bits, rng));
  const double spread = std::ldexp(1.0, params_.bits) / std::sqrt(12.0);
  std::vector<uint16_t> scales(shared);
  for (uint16_t& s : scales) s = f32_to_f16(jittered(deviation / spread, rng));
  arrays["scales"] = Array::of<uint16_t>(ElementType::f16, {rows, n_groups}, scales);
  if (params_.symmetric) return arrays;
  std::vector<uint8_t> zeros = random_bytes(shared, 1, rng);
  for (uint8_t& z : zeros) z = static_cast<uint8_t>((1 << (params_.bits - 1)) - z);
  arrays["zeros"] = Array::of<uint8_t>(ElementType::u8, {rows, n_groups}, zeros);
  return arrays;
}

}  // namespace cupel::format
