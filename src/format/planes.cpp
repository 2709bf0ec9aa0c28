// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/planes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace cupel::format {

static_assert(std::endian::native == std::endian::little, "planes are little endian");

namespace {

constexpr int64_t kLine = 64;
using Block = uint8_t[kStripe][kChunk];

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
  return 0x01010101u * ((1u << width) - 1u);
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

}  // namespace

std::size_t plane_bytes(ElementType type, const std::vector<int64_t>& shape) {
  std::size_t count = 1;
  for (const int64_t n : shape) count = checked_mul(count, static_cast<std::size_t>(n), "a plane");
  return stored_bytes(type, count);
}

Array empty_array(ElementType type, std::vector<int64_t> shape) {
  const std::size_t bytes = plane_bytes(type, shape);
  return {type, std::move(shape), std::vector<std::byte>(bytes)};
}

Planes empty_planes(const std::vector<Layout::PlaneSpec>& specs) {
  Planes planes;
  for (const auto& spec : specs) planes.emplace(spec.name, empty_array(spec.type, spec.shape));
  return planes;
}

const Array& array_of(const WeightCode& code, const std::string& name, ElementType type,
                      const std::vector<int64_t>& shape) {
  const auto found = code.arrays.find(name);
  CUPEL_CHECK(found != code.arrays.end(), data, "a code of layout ", code.layout->name(),
              " needs the array '", name, "'");
  const Array& a = found->second;
  CUPEL_CHECK(a.type == type && a.shape == shape && a.bytes.size() == plane_bytes(type, shape),
              data, "'", name, "' must be ", traits(type).name, " ", list_text(shape), ", not ",
              traits(a.type).name, " ", list_text(a.shape), " in ", a.bytes.size(), " bytes");
  return a;
}

void check_arrays(const WeightCode& code, const std::vector<std::string>& names) {
  CUPEL_CHECK(code.arrays.size() == names.size(), data, "this ", code.layout->name(),
              " code must have ", names.size(), " arrays, not ", code.arrays.size());
  for (const std::string& name : names)
    CUPEL_CHECK(code.arrays.contains(name), data, "a code of layout ", code.layout->name(),
                " needs the array '", name, "'");
}

std::span<const std::byte> plane_of(const PlaneViews& planes, const Layout::PlaneSpec& spec) {
  const auto found = planes.find(spec.name);
  CUPEL_CHECK(found != planes.end(), data, "the plane '", spec.name, "' is missing");
  const std::size_t expected = plane_bytes(spec.type, spec.shape);
  CUPEL_CHECK(found->second.bytes.size() == expected, data, "the plane '", spec.name, "' has ",
              found->second.bytes.size(), " bytes, ", expected, " expected");
  return found->second.bytes;
}

std::vector<int64_t> code_plane_shape(int64_t rows, int64_t cols, int bits) {
  return {ceil_div(rows, kStripe), ceil_div(cols, kChunk), bits * kLine};
}

void pack_codes(const uint8_t* codes, int64_t rows, int64_t cols, int bits,
                const std::function<uint8_t(int64_t row, int64_t input)>& padding,
                std::byte* plane) {
  const Fields fields(bits);
  alignas(64) Block block;
  for (int64_t stripe = 0; stripe * kStripe < rows; ++stripe)
    for (int64_t at = 0; at < cols; at += kChunk, plane += bits * kLine) {
      const int64_t count = std::min(kChunk, cols - at);
      for (int64_t r = 0; r < kStripe; ++r) {
        const int64_t o = stripe * kStripe + r;
        if (o >= rows || count < kChunk) std::memset(block[r], padding(o, at), kChunk);
        if (o < rows) std::memcpy(block[r], codes + o * cols + at, static_cast<std::size_t>(count));
      }
      pack_block(fields, block, plane);
    }
}

void unpack_codes(const std::byte* plane, int64_t cols, int bits, int64_t row, int64_t count,
                  uint8_t* out) {
  const Fields fields(bits);
  const int64_t chunks = ceil_div(cols, kChunk);
  alignas(64) Block block;
  for (int64_t stripe = row / kStripe; stripe * kStripe < row + count; ++stripe) {
    const int64_t first = std::max<int64_t>(row - stripe * kStripe, 0);
    const int64_t last = std::min(kStripe, row + count - stripe * kStripe);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      unpack_block(fields, plane + (stripe * chunks + chunk) * bits * kLine, first, last, block);
      const int64_t at = chunk * kChunk, n = std::min(kChunk, cols - at);
      for (int64_t r = first; r < last; ++r)
        std::memcpy(out + (stripe * kStripe + r - row) * cols + at, block[r],
                    static_cast<std::size_t>(n));
    }
  }
}

void to_stripes(const void* values, std::size_t size, int64_t rows, int64_t groups, void* plane) {
  const auto* in = static_cast<const std::byte*>(values);
  auto* out = static_cast<std::byte*>(plane);
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g)
      std::memcpy(
          out + ((o / kStripe * groups + g) * kStripe + o % kStripe) * static_cast<int64_t>(size),
          in + (o * groups + g) * static_cast<int64_t>(size), size);
}

void from_stripes(const void* plane, std::size_t size, int64_t rows, int64_t groups, void* values) {
  const auto* in = static_cast<const std::byte*>(plane);
  auto* out = static_cast<std::byte*>(values);
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t g = 0; g < groups; ++g)
      std::memcpy(
          out + (o * groups + g) * static_cast<int64_t>(size),
          in + ((o / kStripe * groups + g) * kStripe + o % kStripe) * static_cast<int64_t>(size),
          size);
}

std::vector<uint8_t> random_bytes(std::size_t count, int bits, Rng& rng) {
  std::vector<uint8_t> bytes((count + 3) / 4 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    const uint32_t word = rng.next_u32() & byte_mask(bits);
    std::memcpy(&bytes[i], &word, 4);
  }
  bytes.resize(count);
  return bytes;
}

float jittered(double middle, Rng& rng) {
  return static_cast<float>(middle * (0.5 + rng.uniform()));
}

}  // namespace cupel::format
