// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/layouts/nested.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "format/planes.h"

namespace cupel::format {

namespace {

std::string bit_name(int plane) {
  return cat("bit", plane);
}

}  // namespace

void NestedParams::visit(ParamVisitor& v) {
  v.field("bits", bits, "of a whole code").in(2, 8);
  v.field("group", group, "inputs that share a scale; 0 is the whole row").in(0, 1024);
  v.field("kept", kept, "bit planes that are stored, the highest first; 0 is all").in(0, 8);
  v.check(group == 0 || group >= 16, "group must be 0 or at least 16");
  v.check(kept <= bits, "kept must not be more than bits");
}

NestedLayout::NestedLayout(const NestedParams& params) : params_(params) {}

std::string NestedLayout::description() const {
  return cat("nested ", kept(), " of ", params_.bits, " bits ",
             params_.group == 0 ? "row" : cat("g", params_.group));
}

std::vector<Layout::PlaneSpec> NestedLayout::array_specs(int64_t rows, int64_t cols) const {
  return {{"codes", ElementType::u8, {rows, cols}},
          {"scales", ElementType::f16, {rows, groups(cols)}},
          {"zeros", ElementType::u8, {rows, groups(cols)}},
          {"centres", ElementType::f32, {1, params_.bits}}};
}

std::vector<Layout::PlaneSpec> NestedLayout::plane_specs(int64_t rows, int64_t cols) const {
  const std::vector<int64_t> shared = {ceil_div(rows, kStripe), groups(cols), kStripe};
  std::vector<PlaneSpec> specs;
  for (int b = 0; b < kept(); ++b)
    specs.push_back({bit_name(b), ElementType::u8, code_plane_shape(rows, cols, 1)});
  specs.push_back({"scales", ElementType::f16, shared});
  specs.push_back({"zeros", ElementType::u8, shared});
  specs.push_back({"centres", ElementType::f32, {1, params_.bits}});
  return specs;
}

void NestedLayout::decode(const WeightCode& code, std::span<float> out) const {
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(code.rows * code.cols));
  std::vector<std::string> names;
  for (const PlaneSpec& s : array_specs(code.rows, code.cols)) {
    array_of(code, s.name, s.type, s.shape);
    names.push_back(s.name);
  }
  check_arrays(code, names);
  const auto codes = code.arrays.at("codes").as<uint8_t>();
  const auto scales = code.arrays.at("scales").as<uint16_t>();
  const auto zeros = code.arrays.at("zeros").as<uint8_t>();
  const float centre = code.arrays.at("centres").as<float>()[static_cast<std::size_t>(kept() - 1)];
  const int dropped = params_.bits - kept();
  const int64_t width = group_width(code.cols), n_groups = groups(code.cols);
  CUPEL_CHECK(std::isfinite(centre), data, "centres must be finite");
  for (int64_t o = 0; o < code.rows; ++o)
    for (int64_t i = 0; i < code.cols; ++i) {
      const auto at = static_cast<std::size_t>(o * code.cols + i);
      const auto g = static_cast<std::size_t>(o * n_groups + i / width);
      CUPEL_CHECK(codes[at] >> params_.bits == 0 && (codes[at] & ((1 << dropped) - 1)) == 0, data,
                  "codes[", o, ", ", i, "] is ", int{codes[at]}, ", which is no prefix of ", kept(),
                  " of ", params_.bits, " bits");
      const float scale = f16_to_f32(scales[g]);
      CUPEL_CHECK(std::isfinite(scale), data, "scales[", o, ", ", i / width, "] is not finite");
      CUPEL_CHECK(zeros[g] >> params_.bits == 0, data, "zeros[", o, ", ", i / width, "] is ",
                  int{zeros[g]}, ", which needs more than ", params_.bits, " bits");
      out[at] = scale * (static_cast<float>(codes[at] - zeros[g]) + centre);
    }
}

Planes NestedLayout::pack(const WeightCode& code) const {
  std::vector<float> checked(static_cast<std::size_t>(code.rows * code.cols));
  decode(code, checked);
  Planes planes = empty_planes(plane_specs(code.rows, code.cols));
  const auto codes = code.arrays.at("codes").as<uint8_t>();
  std::vector<uint8_t> bit(codes.size());
  for (int b = 0; b < kept(); ++b) {
    for (std::size_t i = 0; i < bit.size(); ++i)
      bit[i] = static_cast<uint8_t>(codes[i] >> (params_.bits - 1 - b) & 1);
    pack_codes(
        bit.data(), code.rows, code.cols, 1, [](auto, auto) { return uint8_t{0}; },
        planes.at(bit_name(b)).bytes.data());
  }
  const int64_t n_groups = groups(code.cols);
  to_stripes(code.arrays.at("scales").bytes.data(), 2, code.rows, n_groups,
             planes.at("scales").bytes.data());
  to_stripes(code.arrays.at("zeros").bytes.data(), 1, code.rows, n_groups,
             planes.at("zeros").bytes.data());
  planes.at("centres").bytes = code.arrays.at("centres").bytes;
  return planes;
}

void NestedLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                          int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(count * cols));
  std::vector<uint8_t> codes(out.size()), bit(out.size());
  const std::byte *scales = nullptr, *zeros = nullptr;
  float centre = 0;
  int at = 0;
  for (const PlaneSpec& spec : plane_specs(rows, cols)) {
    const std::byte* bytes = plane_of(planes, spec).data();
    if (spec.name == "scales") scales = bytes;
    if (spec.name == "zeros") zeros = bytes;
    if (spec.name == "centres") std::memcpy(&centre, bytes + 4 * (kept() - 1), 4);
    if (!spec.name.starts_with("bit")) continue;
    unpack_codes(bytes, cols, 1, row, count, bit.data());
    for (std::size_t i = 0; i < bit.size(); ++i)
      codes[i] = static_cast<uint8_t>(codes[i] | bit[i] << (params_.bits - 1 - at));
    ++at;
  }
  const int64_t width = group_width(cols), n_groups = groups(cols);
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = 0; i < cols; ++i) {
      const int64_t o = row + r,
                    shared = (o / kStripe * n_groups + i / width) * kStripe + o % kStripe;
      uint16_t half;
      std::memcpy(&half, scales + 2 * shared, 2);
      const auto k = static_cast<std::size_t>(r * cols + i);
      out[k] = f16_to_f32(half) *
               (static_cast<float>(int{codes[k]} - std::to_integer<int>(zeros[shared])) + centre);
    }
}

std::map<std::string, Array> NestedLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                         int64_t cols) const {
  std::map<std::string, Array> arrays;
  for (const PlaneSpec& s : array_specs(rows, cols)) arrays[s.name] = empty_array(s.type, s.shape);
  Array& codes = arrays.at("codes");
  std::vector<uint8_t> bit(codes.bytes.size());
  int at = 0;
  for (const PlaneSpec& spec : plane_specs(rows, cols)) {
    const std::byte* bytes = plane_of(planes, spec).data();
    if (spec.name == "centres")
      std::memcpy(arrays.at("centres").bytes.data(), bytes, arrays.at("centres").bytes.size());
    else if (spec.name == "scales" || spec.name == "zeros")
      from_stripes(bytes, spec.name == "scales" ? 2 : 1, rows, groups(cols),
                   arrays.at(spec.name).bytes.data());
    else {
      unpack_codes(bytes, cols, 1, 0, rows, bit.data());
      for (std::size_t i = 0; i < bit.size(); ++i)
        codes.bytes[i] |= std::byte(bit[i] << (params_.bits - 1 - at));
      ++at;
    }
  }
  return arrays;
}

std::map<std::string, Array> NestedLayout::random_arrays(int64_t rows, int64_t cols,
                                                         double deviation, Rng& rng) const {
  std::map<std::string, Array> arrays;
  auto codes = random_bytes(static_cast<std::size_t>(rows * cols), params_.bits, rng);
  const int dropped = params_.bits - kept();
  for (uint8_t& c : codes) c = static_cast<uint8_t>(c >> dropped << dropped);
  arrays["codes"] = Array::of<uint8_t>(ElementType::u8, {rows, cols}, codes);
  const auto shared = static_cast<std::size_t>(rows * groups(cols));
  const double spread = std::ldexp(1.0, params_.bits) / std::sqrt(12.0);
  std::vector<uint16_t> scales(shared);
  for (uint16_t& s : scales) s = f32_to_f16(jittered(deviation / spread, rng));
  arrays["scales"] = Array::of<uint16_t>(ElementType::f16, {rows, groups(cols)}, scales);
  const std::vector<uint8_t> zeros(shared, static_cast<uint8_t>(1 << (params_.bits - 1)));
  arrays["zeros"] = Array::of<uint8_t>(ElementType::u8, {rows, groups(cols)}, zeros);
  std::vector<float> centres;
  for (int b = 1; b <= params_.bits; ++b)
    centres.push_back(static_cast<float>(((1 << (params_.bits - b)) - 1) / 2.0));
  arrays["centres"] = Array::of<float>(ElementType::f32, {1, params_.bits}, centres);
  return arrays;
}

WeightCode nested_prefix(const WeightCode& code, int kept) {
  const auto* nested = dynamic_cast<const NestedLayout*>(code.layout.get());
  CUPEL_CHECK(nested != nullptr, user, "a prefix can be taken of layout nested alone, not of ",
              code.layout->description());
  CUPEL_CHECK(kept >= 1 && kept <= nested->kept(), user, "a prefix of ", kept,
              " bits cannot be taken of ", nested->kept());
  NestedParams params;
  params.bits = nested->bits();
  params.group = dynamic_cast<const NestedParams&>(nested->params()).group;
  params.kept = kept;
  WeightCode out = code;
  out.layout = std::make_shared<NestedLayout>(params);
  const int dropped = nested->bits() - kept;
  for (std::byte& c : out.arrays.at("codes").bytes) c = c >> dropped << dropped;
  return out;
}

}  // namespace cupel::format
