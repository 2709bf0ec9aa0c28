// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Axes: o outputs (rows), i inputs (cols), g groups of inputs, r row inside a stripe.
#include "format/layouts/uniform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace cupel::format {

static_assert(std::endian::native == std::endian::little, "planes are little endian");

namespace {

constexpr int64_t kStripe = 16, kChunk = 32, kLine = 64;
using Block = uint8_t[kStripe][kChunk];

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Bits [shift, shift + width) of a code.
struct Field {
  int width, shift;
};

/// The fields of a code, as they follow each other in a chunk.
struct Fields {
  Field list[3];
  int count = 0;
  explicit Fields(int bits) {
    for (int width = 8, shift = 0; width > 0; width /= 2)
      if ((bits & width) != 0) {
        list[count++] = {width, shift};
        shift += width;
      }
  }
  const Field* begin() const { return list; }
  const Field* end() const { return list + count; }
};

/// Four bytes that all hold `width` low ones.
uint32_t byte_mask(int width) {
  return 0x01010101u * ((1u << width) - 1);
}

void pack_block(const Fields& fields, const Block& block, std::byte* out) {
  for (const Field f : fields) {
    const uint32_t mask = byte_mask(f.width);
    for (int line = 0; line < f.width; ++line, out += kLine)
      for (int r = 0; r < kStripe; ++r) {
        const uint8_t* codes = block[r] + line * (kChunk / f.width);
        uint32_t word = 0;
        for (int at = 0; at < 8; at += f.width, codes += 4) {
          uint32_t four;
          std::memcpy(&four, codes, 4);
          word |= ((four >> f.shift) & mask) << at;
        }
        std::memcpy(out + r * 4, &word, 4);
      }
  }
}

/// Rows [first, last) of the block.
void unpack_block(const Fields& fields, const std::byte* in, int64_t first, int64_t last,
                  Block& block) {
  for (int64_t r = first; r < last; ++r) std::memset(block[r], 0, kChunk);
  for (const Field f : fields) {
    const uint32_t mask = byte_mask(f.width);
    for (int line = 0; line < f.width; ++line, in += kLine)
      for (int64_t r = first; r < last; ++r) {
        uint8_t* codes = block[r] + line * (kChunk / f.width);
        uint32_t word;
        std::memcpy(&word, in + r * 4, 4);
        for (int at = 0; at < 8; at += f.width, codes += 4) {
          uint32_t four;
          std::memcpy(&four, codes, 4);
          four |= ((word >> at) & mask) << f.shift;
          std::memcpy(codes, &four, 4);
        }
      }
  }
}

std::size_t bytes_of(ElementType type, const std::vector<int64_t>& shape) {
  std::size_t count = 1;
  for (const int64_t n : shape) count = checked_mul(count, static_cast<std::size_t>(n), "a plane");
  return stored_bytes(type, count);
}

Array empty_array(ElementType type, std::vector<int64_t> shape) {
  const std::size_t bytes = bytes_of(type, shape);
  return {type, std::move(shape), std::vector<std::byte>(bytes)};
}

/// The typed bytes of one array of a code, its type and shape checked.
template <class T>
const T* array_of(const WeightCode& code, const char* name, ElementType type, int64_t cols) {
  const auto found = code.arrays.find(name);
  CUPEL_CHECK(found != code.arrays.end(), data, "a uniform code needs the array '", name, "'");
  const Array& a = found->second;
  const std::vector<int64_t> shape = {code.rows, cols};
  CUPEL_CHECK(a.type == type && a.shape == shape && a.bytes.size() == bytes_of(type, shape), data,
              "'", name, "' must be ", traits(type).name, " ", list_text(shape), ", not ",
              traits(a.type).name, " ", list_text(a.shape), " in ", a.bytes.size(), " bytes");
  return reinterpret_cast<const T*>(a.bytes.data());
}

/// The arrays of a code; `zeros` is nullptr when symmetric.
struct Arrays {
  const uint8_t* codes;
  const uint16_t* scales;
  const uint8_t* zeros = nullptr;
};

Arrays arrays_of(const WeightCode& code, bool symmetric, int64_t groups) {
  Arrays a{array_of<uint8_t>(code, "codes", ElementType::u8, code.cols),
           array_of<uint16_t>(code, "scales", ElementType::f16, groups)};
  if (!symmetric) a.zeros = array_of<uint8_t>(code, "zeros", ElementType::u8, groups);
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
    const auto found = planes.find(spec.name);
    CUPEL_CHECK(found != planes.end(), data, "the plane '", spec.name, "' is missing");
    const auto bytes = found->second.bytes;
    const std::size_t expected = bytes_of(spec.type, spec.shape);
    CUPEL_CHECK(bytes.size() == expected, data, "the plane '", spec.name, "' has ", bytes.size(),
                " bytes, ", expected, " expected");
    if (spec.name == "codes") views.codes = bytes.data();
    if (spec.name == "scales") views.scales = bytes.data();
    if (spec.name == "zeros") views.zeros = reinterpret_cast<const uint8_t*>(bytes.data());
  }
  return views;
}

/// Calls visit(stripe, chunk, first, last, block) for each block that holds some of the rows [row,
/// row + count); rows [first, last) of the block are wanted.
template <class Visit>
void each_block(const std::byte* codes, int bits, int64_t cols, int64_t row, int64_t count,
                Visit&& visit) {
  const Fields fields(bits);
  const int64_t chunks = ceil_div(cols, kChunk);
  alignas(64) Block block;
  for (int64_t stripe = row / kStripe; stripe * kStripe < row + count; ++stripe) {
    const int64_t first = std::max<int64_t>(row - stripe * kStripe, 0);
    const int64_t last = std::min(kStripe, row + count - stripe * kStripe);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      unpack_block(fields, codes + (stripe * chunks + chunk) * bits * kLine, first, last, block);
      visit(stripe, chunk, first, last, block);
    }
  }
}

/// [o, g] to [stripes, g, 16]; padded rows are zero.
template <class T>
void to_stripes(const T* in, int64_t rows, int64_t groups, Array& plane) {
  T* out = reinterpret_cast<T*>(plane.bytes.data());
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g)
      out[(o / kStripe * groups + g) * kStripe + o % kStripe] = in[o * groups + g];
}

template <class T>
Array from_stripes(ElementType type, const void* plane, int64_t rows, int64_t groups) {
  Array array = empty_array(type, {rows, groups});
  const auto* in = static_cast<const std::byte*>(plane);
  auto* out = array.bytes.data();
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = (o / kStripe * groups + g) * kStripe + o % kStripe;
      std::memcpy(out + (o * groups + g) * int64_t{sizeof(T)}, in + from * int64_t{sizeof(T)},
                  sizeof(T));
    }
  return array;
}

}  // namespace

void UniformParams::visit(ParamVisitor& v) {
  v.field("bits", bits, "bits of a code").in(2, 8);
  v.field("group", group, "inputs that share a scale; 0 is the whole row").in(0, 1024);
  v.field("symmetric", symmetric, "zero is the middle code; otherwise each group stores its own");
  v.check(group == 0 || (group >= 32 && std::has_single_bit(static_cast<unsigned>(group))),
          "group must be 0, 32, 64, 128, 256, 512 or 1024");
}

UniformLayout::UniformLayout(const UniformParams& params) : params_(params) {
  const int group = params.group;
  CUPEL_CHECK(params.bits >= 2 && params.bits <= 8, user, "layout uniform: 'bits' must lie in ",
              "[2, 8], not ", params.bits);
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
  const int64_t n_groups = groups(cols), chunks = ceil_div(cols, kChunk);
  const Arrays a = arrays_of(code, params_.symmetric, n_groups);
  check_range(a.codes, rows, cols, params_.bits, "codes");
  check_scales(a.scales, rows, n_groups);
  if (a.zeros) check_range(a.zeros, rows, n_groups, params_.bits, "zeros");

  Planes planes;
  for (const PlaneSpec& spec : plane_specs(rows, cols))
    planes.emplace(spec.name, empty_array(spec.type, spec.shape));
  to_stripes(a.scales, rows, n_groups, planes.at("scales"));
  if (a.zeros) to_stripes(a.zeros, rows, n_groups, planes.at("zeros"));

  const Fields fields(params_.bits);
  std::byte* out = planes.at("codes").bytes.data();
  const uint8_t middle = static_cast<uint8_t>(1 << (params_.bits - 1));
  alignas(64) Block block;
  for (int64_t stripe = 0; stripe * kStripe < rows; ++stripe)
    for (int64_t chunk = 0; chunk < chunks; ++chunk, out += params_.bits * kLine) {
      const int64_t at = chunk * kChunk, count = std::min(kChunk, cols - at);
      for (int64_t r = 0; r < kStripe; ++r) {
        const int64_t o = stripe * kStripe + r;
        const uint8_t outside = a.zeros ? uint8_t{0} : middle;
        if (o >= rows) {
          std::memset(block[r], outside, kChunk);
          continue;
        }
        if (count < kChunk)
          std::memset(block[r], a.zeros ? a.zeros[o * n_groups + at / width] : middle, kChunk);
        std::memcpy(block[r], a.codes + o * cols + at, static_cast<std::size_t>(count));
      }
      pack_block(fields, block, out);
    }
  return planes;
}

void UniformLayout::unpack(const PlaneViews& planes, int64_t rows, int64_t cols, int64_t row,
                           int64_t count, std::span<float> out) const {
  CUPEL_ASSERT(row >= 0 && count >= 0 && row + count <= rows);
  CUPEL_ASSERT(out.size() == static_cast<std::size_t>(count * cols));
  const Views views = views_of(planes, plane_specs(rows, cols));
  const int64_t width = group_width(cols), n_groups = groups(cols);
  const int middle = 1 << (params_.bits - 1);
  each_block(views.codes, params_.bits, cols, row, count,
             [&](int64_t stripe, int64_t chunk, int64_t first, int64_t last, const Block& block) {
               const int64_t at = chunk * kChunk, n = std::min(kChunk, cols - at);
               const int64_t shared = (stripe * n_groups + at / width) * kStripe;
               for (int64_t r = first; r < last; ++r) {
                 const float scale = views.scale(shared + r);
                 const int zero = views.zeros ? views.zeros[shared + r] : middle;
                 float* w = out.data() + (stripe * kStripe + r - row) * cols + at;
                 for (int64_t i = 0; i < n; ++i)
                   w[i] = scale * static_cast<float>(block[r][i] - zero);
               }
             });
}

std::map<std::string, Array> UniformLayout::unpack_arrays(const PlaneViews& planes, int64_t rows,
                                                          int64_t cols) const {
  const Views views = views_of(planes, plane_specs(rows, cols));
  const int64_t n_groups = groups(cols);
  std::map<std::string, Array> arrays;
  Array& codes = arrays.emplace("codes", empty_array(ElementType::u8, {rows, cols})).first->second;
  each_block(views.codes, params_.bits, cols, 0, rows,
             [&](int64_t stripe, int64_t chunk, int64_t first, int64_t last, const Block& block) {
               const int64_t at = chunk * kChunk, n = std::min(kChunk, cols - at);
               for (int64_t r = first; r < last; ++r)
                 std::memcpy(codes.bytes.data() + (stripe * kStripe + r) * cols + at, block[r],
                             static_cast<std::size_t>(n));
             });
  arrays.emplace("scales", from_stripes<uint16_t>(ElementType::f16, views.scales, rows, n_groups));
  if (views.zeros)
    arrays.emplace("zeros", from_stripes<uint8_t>(ElementType::u8, views.zeros, rows, n_groups));
  return arrays;
}

std::vector<Layout::PlaneSpec> UniformLayout::plane_specs(int64_t rows, int64_t cols) const {
  const int64_t stripes = ceil_div(rows, kStripe), n_groups = groups(cols);
  std::vector<PlaneSpec> specs = {
      {"codes", ElementType::u8, {stripes, ceil_div(cols, kChunk), params_.bits * kLine}},
      {"scales", ElementType::f16, {stripes, n_groups, kStripe}}};
  if (!params_.symmetric) specs.push_back({"zeros", ElementType::u8, {stripes, n_groups, kStripe}});
  return specs;
}

}  // namespace cupel::format
