// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/grid_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "format/minifloat.h"
#include "format/planes.h"

namespace cupel::format {

namespace {

constexpr int64_t kTritsPerByte = 5;
// Random scales under an outer one: in the middle of what E4M3 and multipliers can hold.
constexpr double kInnerScale = 5;

/// Rows [row, row + count) of five trits a byte, the first one the lowest digit.
void unpack_trits(const std::byte* plane, int64_t cols, int64_t row, int64_t count, uint8_t* out) {
  const int64_t bytes = ceil_div(cols, kTritsPerByte);
  for (int64_t r = 0; r < count; ++r)
    for (int64_t k = 0; k < bytes; ++k) {
      const int64_t o = row + r;
      auto byte = static_cast<unsigned>(plane[(o / kStripe * bytes + k) * kStripe + o % kStripe]);
      for (int64_t i = k * kTritsPerByte, end = std::min(i + kTritsPerByte, cols); i < end; ++i) {
        out[r * cols + i] = static_cast<uint8_t>(byte % 3);
        byte /= 3;
      }
    }
}

void pack_trits(const uint8_t* codes, int64_t rows, int64_t cols, std::byte* plane) {
  const int64_t bytes = ceil_div(cols, kTritsPerByte);
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t k = 0; k < bytes; ++k) {
      unsigned byte = 0;
      for (int64_t i = std::min((k + 1) * kTritsPerByte, cols) - 1; i >= k * kTritsPerByte; --i)
        byte = byte * 3 + codes[o * cols + i];
      plane[(o / kStripe * bytes + k) * kStripe + o % kStripe] = static_cast<std::byte>(byte);
    }
}

/// Multipliers [o, g] to nibbles [stripes, g, 8] and back.
void pack_nibbles(const uint8_t* values, int64_t rows, int64_t groups, std::byte* plane) {
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g)
      plane[(o / kStripe * groups + g) * 8 + o % 8] |=
          static_cast<std::byte>(values[o * groups + g] << (o % kStripe < 8 ? 0 : 4));
}

void unpack_nibbles(const std::byte* plane, int64_t rows, int64_t groups, uint8_t* values) {
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g) {
      const auto both = static_cast<unsigned>(plane[(o / kStripe * groups + g) * 8 + o % 8]);
      values[o * groups + g] = static_cast<uint8_t>(o % kStripe < 8 ? both & 15 : both >> 4);
    }
}

}  // namespace

GridLayout::GridLayout(GridSpec spec) : spec_(std::move(spec)) {
  const std::size_t codes = std::size_t{1} << spec_.bits;
  CUPEL_ASSERT(spec_.bits >= 1 && spec_.bits <= 8);
  CUPEL_ASSERT(spec_.levels.empty() ? spec_.scale == ScaleType::none
                                    : spec_.levels.size() == codes);
  CUPEL_ASSERT(!spec_.mirror || spec_.scale == ScaleType::e4m3);
  mirrored_.assign(spec_.levels.rbegin(), spec_.levels.rend());
  for (float& level : mirrored_) level = -level;
}

int64_t GridLayout::row_blocks(int64_t rows) const {
  return ceil_div(rows, std::max<int64_t>(1, block_rows(rows)));
}
int64_t GridLayout::col_blocks(int64_t cols) const {
  return ceil_div(cols, std::max<int64_t>(1, block_cols(cols)));
}

ElementType GridLayout::scale_array_type() const {
  if (spec_.scale == ScaleType::f32) return ElementType::f32;
  return spec_.scale == ScaleType::f16 ? ElementType::f16 : ElementType::u8;
}

std::optional<WholeLevels> whole_levels(const GridSpec& spec) {
  float largest = 0;
  for (const float level : spec.levels)
    if (!std::isnan(level)) largest = std::max(largest, std::fabs(level));
  if (largest == 0) return std::nullopt;
  for (int top = 1; top <= 127; ++top) {
    WholeLevels whole{.number = {}, .unit = largest / static_cast<float>(top)};
    for (const float level : spec.levels) {
      const float multiple = std::isnan(level) ? 0 : level / whole.unit;
      const float nearest = std::nearbyint(multiple);
      if (std::fabs(multiple - nearest) > 1e-6f * static_cast<float>(top)) break;
      whole.number.push_back(static_cast<int8_t>(nearest));
    }
    if (whole.number.size() == spec.levels.size()) return whole;
  }
  return std::nullopt;
}

float GridLayout::scale_value(uint32_t stored) const {
  switch (spec_.scale) {
    case ScaleType::f32: {
      float value;
      std::memcpy(&value, &stored, 4);
      return value;
    }
    case ScaleType::f16:
      return f16_to_f32(static_cast<uint16_t>(stored));
    case ScaleType::e4m3:
      return from_minifloat(MiniFloat::e4m3, static_cast<uint8_t>(stored));
    case ScaleType::e8m0:
      return from_e8m0(static_cast<uint8_t>(stored));
    case ScaleType::multiplier:
      return static_cast<float>(stored);
    case ScaleType::none:
      break;
  }
  return 1.0f;
}

uint32_t GridLayout::stored_scale(float value) const {
  switch (spec_.scale) {
    case ScaleType::f32:
      return std::bit_cast<uint32_t>(value);
    case ScaleType::f16: {
      constexpr float kSmallest = 0x1p-24f, kLargest = 65504.0f;
      return f32_to_f16(std::clamp(value, kSmallest, kLargest));
    }
    case ScaleType::e4m3:
      return to_minifloat(MiniFloat::e4m3, value);
    case ScaleType::e8m0: {
      if (!(value > 0)) return 0;
      return static_cast<uint32_t>(std::clamp(std::nearbyint(std::log2(value)), -127.0f, 127.0f) +
                                   127);
    }
    case ScaleType::multiplier:
      return static_cast<uint32_t>(std::clamp(std::nearbyint(value), 1.0f, kLargestMultiplier));
    case ScaleType::none:
      break;
  }
  return 0;
}

std::vector<Layout::PlaneSpec> GridLayout::array_specs(int64_t rows, int64_t cols) const {
  std::vector<PlaneSpec> specs = {{"codes", ElementType::u8, {rows, cols}}};
  if (spec_.scale != ScaleType::none)
    specs.push_back({"scales", scale_array_type(), {row_blocks(rows), col_blocks(cols)}});
  if (spec_.outer != OuterScale::none)
    specs.push_back(
        {"outer", ElementType::f32, {spec_.outer == OuterScale::row ? rows : int64_t{1}, 1}});
  if (has_tables()) specs.push_back({"tables", ElementType::f16, {rows, int64_t{1} << spec_.bits}});
  return specs;
}

std::vector<Layout::PlaneSpec> GridLayout::plane_specs(int64_t rows, int64_t cols) const {
  std::vector<PlaneSpec> specs = array_specs(rows, cols);
  const int64_t stripes = ceil_div(rows, kStripe);
  specs[0].shape = spec_.trits
                       ? std::vector<int64_t>{stripes, ceil_div(cols, kTritsPerByte), kStripe}
                       : code_plane_shape(rows, cols, spec_.bits);
  for (PlaneSpec& s : specs) {
    if (s.name == "scales" && spec_.block_rows == 1)
      s.shape = {stripes, col_blocks(cols),
                 spec_.scale == ScaleType::multiplier ? kStripe / 2 : kStripe};
  }
  return specs;
}

void GridLayout::check_values(const WeightCode& code) const {
  std::vector<std::string> names;
  for (const PlaneSpec& s : array_specs(code.rows, code.cols)) {
    array_of(code, s.name, s.type, s.shape);
    names.push_back(s.name);
  }
  check_arrays(code, names);
  const auto codes = code.arrays.at("codes").as<uint8_t>();
  const unsigned end = spec_.trits ? 3u : 1u << spec_.bits;
  for (std::size_t i = 0; i < codes.size(); ++i)
    CUPEL_CHECK(codes[i] < end && (has_tables() || !std::isnan(spec_.levels[codes[i]])), data,
                "codes[", i / static_cast<std::size_t>(code.cols), ", ",
                i % static_cast<std::size_t>(code.cols), "] is ", int{codes[i]},
                ", which is no level of ", description());
  for (const char* name : {"scales", "outer", "tables"}) {
    const auto found = code.arrays.find(name);
    if (found == code.arrays.end()) continue;
    const Array& a = found->second;
    const int64_t n = a.shape[0] * a.shape[1], width = traits(a.type).bytes;
    for (int64_t i = 0; i < n; ++i) {
      uint32_t stored = 0;
      std::memcpy(&stored, a.bytes.data() + i * width, static_cast<std::size_t>(width));
      float value = 0;
      if (a.type == ElementType::f32)
        std::memcpy(&value, &stored, 4);
      else if (a.type == ElementType::f16)
        value = f16_to_f32(static_cast<uint16_t>(stored));
      else
        value = scale_value(stored);
      CUPEL_CHECK(std::isfinite(value), data, name, "[", i / a.shape[1], ", ", i % a.shape[1],
                  "] is not finite");
      CUPEL_CHECK(spec_.scale != ScaleType::multiplier || a.type != ElementType::u8 ||
                      (stored >= 1 && value <= kLargestMultiplier),
                  data, name, "[", i / a.shape[1], ", ", i % a.shape[1], "] is ", stored,
                  ", but multipliers are 1 to 10");
    }
  }
}

/// Where the scales of a matrix lie: in arrays, or in planes by stripes.
struct GridLayout::Shared {
  const std::byte* scales = nullptr;
  const std::byte* outer = nullptr;
  const uint16_t* tables = nullptr;
  bool striped = false;
};

float GridLayout::scale_at(const Shared& shared, int64_t o, int64_t g, int64_t groups,
                           int64_t height) const {
  uint32_t stored = 0;
  if (spec_.scale == ScaleType::multiplier && shared.striped) {
    const auto both = static_cast<unsigned>(shared.scales[(o / kStripe * groups + g) * 8 + o % 8]);
    stored = o % kStripe < 8 ? both & 15 : both >> 4;
  } else {
    const bool by_stripe = shared.striped && spec_.block_rows == 1;
    const int64_t at =
        by_stripe ? (o / kStripe * groups + g) * kStripe + o % kStripe : o / height * groups + g;
    const int64_t size = traits(scale_array_type()).bytes;
    std::memcpy(&stored, shared.scales + at * size, static_cast<std::size_t>(size));
  }
  return scale_value(stored);
}

void GridLayout::decode_rows(const Shared& shared, int64_t rows, int64_t cols, int64_t row,
                             int64_t count, const uint8_t* codes, std::span<float> out) const {
  const int64_t width = block_cols(cols), height = block_rows(rows), groups = col_blocks(cols);
  std::vector<float> table(has_tables() ? std::size_t{1} << spec_.bits : 0);
  for (int64_t r = 0; r < count; ++r) {
    const int64_t o = row + r;
    float above = 1.0f;
    if (shared.outer)
      std::memcpy(&above, shared.outer + (spec_.outer == OuterScale::row ? 4 * o : 0), 4);
    for (std::size_t k = 0; k < table.size(); ++k)
      table[k] = f16_to_f32(shared.tables[static_cast<std::size_t>(o) * table.size() + k]);
    for (int64_t g = 0; g < groups; ++g) {
      const float* levels = table.empty() ? spec_.levels.data() : table.data();
      float scale = 1.0f;
      if (shared.scales) {
        scale = scale_at(shared, o, g, groups, height);
        if (spec_.mirror && std::signbit(scale)) {
          levels = mirrored_.data();
          scale = -scale;
        }
      }
      for (int64_t i = g * width, end = std::min(i + width, cols); i < end; ++i)
        out[static_cast<std::size_t>(r * cols + i)] = (levels[codes[r * cols + i]] * scale) * above;
    }
  }
}

void GridLayout::decode(const WeightCode& code, std::span<float> out) const {
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(code.rows * code.cols));
  check_values(code);
  const auto bytes_of = [&](const char* name) {
    const auto found = code.arrays.find(name);
    return found == code.arrays.end() ? nullptr : found->second.bytes.data();
  };
  const Shared shared{bytes_of("scales"), bytes_of("outer"),
                      reinterpret_cast<const uint16_t*>(bytes_of("tables")), false};
  decode_rows(shared, code.rows, code.cols, 0, code.rows,
              code.arrays.at("codes").as<uint8_t>().data(), out);
}

Planes GridLayout::pack(const WeightCode& code) const {
  check_values(code);
  Planes planes = empty_planes(plane_specs(code.rows, code.cols));
  const uint8_t* codes = code.arrays.at("codes").as<uint8_t>().data();
  std::byte* code_plane = planes.at("codes").bytes.data();
  if (spec_.trits)
    pack_trits(codes, code.rows, code.cols, code_plane);
  else
    pack_codes(
        codes, code.rows, code.cols, spec_.bits, [](auto, auto) { return uint8_t{0}; }, code_plane);
  for (auto& [name, plane] : planes) {
    if (name == "codes") continue;
    const Array& a = code.arrays.at(name);
    const auto size = static_cast<std::size_t>(traits(a.type).bytes);
    if (plane.shape.size() == 2)
      plane.bytes = a.bytes;
    else if (plane.shape[2] == kStripe)
      to_stripes(a.bytes.data(), size, code.rows, a.shape[1], plane.bytes.data());
    else
      pack_nibbles(a.as<uint8_t>().data(), code.rows, a.shape[1], plane.bytes.data());
  }
  return planes;
}

void GridLayout::codes_of(const std::byte* plane, int64_t cols, int64_t row, int64_t count,
                          uint8_t* out) const {
  if (spec_.trits)
    unpack_trits(plane, cols, row, count, out);
  else
    unpack_codes(plane, cols, spec_.bits, row, count, out);
}

void GridLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                        int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(count * cols));
  std::vector<uint8_t> codes(out.size());
  Shared shared{.striped = true};
  for (const PlaneSpec& spec : plane_specs(rows, cols)) {
    const std::byte* bytes = plane_of(planes, spec).data();
    if (spec.name == "codes") codes_of(bytes, cols, row, count, codes.data());
    if (spec.name == "scales") shared.scales = bytes;
    if (spec.name == "outer") shared.outer = bytes;
    if (spec.name == "tables") shared.tables = reinterpret_cast<const uint16_t*>(bytes);
  }
  decode_rows(shared, rows, cols, row, count, codes.data(), out);
}

std::map<std::string, Array> GridLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                       int64_t cols) const {
  std::map<std::string, Array> arrays;
  const auto specs = plane_specs(rows, cols), targets = array_specs(rows, cols);
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const std::byte* bytes = plane_of(planes, specs[s]).data();
    Array a = empty_array(targets[s].type, targets[s].shape);
    const auto size = static_cast<std::size_t>(traits(a.type).bytes);
    if (s == 0)
      codes_of(bytes, cols, 0, rows, reinterpret_cast<uint8_t*>(a.bytes.data()));
    else if (specs[s].shape.size() == 2)
      std::memcpy(a.bytes.data(), bytes, a.bytes.size());
    else if (specs[s].shape[2] == kStripe)
      from_stripes(bytes, size, rows, a.shape[1], a.bytes.data());
    else
      unpack_nibbles(bytes, rows, a.shape[1], reinterpret_cast<uint8_t*>(a.bytes.data()));
    arrays.emplace(specs[s].name, std::move(a));
  }
  return arrays;
}

std::map<std::string, Array> GridLayout::random_arrays(int64_t rows, int64_t cols, double deviation,
                                                       Rng& rng) const {
  std::map<std::string, Array> arrays;
  for (const PlaneSpec& spec : array_specs(rows, cols))
    arrays[spec.name] = empty_array(spec.type, spec.shape);
  Array& codes = arrays.at("codes");
  const auto bytes = random_bytes(codes.bytes.size(), spec_.bits, rng);
  std::memcpy(codes.bytes.data(), bytes.data(), bytes.size());
  double energy = 0, count = 0;
  for (const float level : spec_.levels)
    if (!std::isnan(level)) energy += static_cast<double>(level) * level, count += 1;
  if (count > 0)
    for (std::byte& c : codes.bytes)
      while (std::isnan(spec_.levels[std::to_integer<std::size_t>(c)]))
        c = std::byte(rng.next_u32() & ((1u << spec_.bits) - 1u));
  // Codes of a float grid are even in their bits, not in their values: the energy of the levels is
  // that of the matrix.
  const double step = count > 0 ? deviation / std::sqrt(energy / count) : deviation;
  const bool outer = spec_.outer != OuterScale::none;
  for (auto& [name, a] : arrays) {
    if (name == "codes") continue;
    const std::size_t n = a.bytes.size() / static_cast<std::size_t>(traits(a.type).bytes);
    for (std::size_t i = 0; i < n; ++i) {
      const double middle = name == "outer" ? step / kInnerScale : outer ? kInnerScale : step;
      float value =
          name == "tables" ? static_cast<float>(step * rng.normal()) : jittered(middle, rng);
      if (name == "scales" && spec_.mirror && (rng.next_u32() & 1u) != 0) value = -value;
      const uint32_t stored = name == "scales"             ? stored_scale(value)
                              : a.type == ElementType::f16 ? uint32_t{f32_to_f16(value)}
                                                           : std::bit_cast<uint32_t>(value);
      std::memcpy(a.bytes.data() + i * (a.bytes.size() / n), &stored, a.bytes.size() / n);
    }
  }
  return arrays;
}

}  // namespace cupel::format
