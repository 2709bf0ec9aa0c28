// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/packer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "format/layout.h"

namespace cupel::export_ {

namespace {

using format::Array;
using format::PlaneViews;
using format::WeightCode;

bool same(const Array& a, const Array& b) {
  return a.type == b.type && a.shape == b.shape && a.bytes == b.bytes;
}

void check_arrays(const WeightCode& code, const PlaneViews& views) {
  const auto arrays = code.layout->unpack_arrays(views, code.rows, code.cols);
  for (const auto& [name, array] : code.arrays) {
    const auto found = arrays.find(name);
    CUPEL_CHECK(found != arrays.end() && same(found->second, array), internal, "array '", name,
                "' differs after packing and unpacking (", code.layout->description(), ")");
  }
}

/// The planes must give back the arrays bit for bit, and the floats that the code decodes to.
void check_packing(const WeightCode& code, const format::Planes& planes) {
  PlaneViews views;
  for (const auto& [name, plane] : planes) views[name] = {plane.type, plane.shape, plane.bytes};
  check_arrays(code, views);
  constexpr int64_t kRowsAtOnce = 64;
  const auto cols = static_cast<std::size_t>(code.cols);
  std::vector<float> decoded(static_cast<std::size_t>(code.rows) * cols);
  code.layout->decode(code, decoded);
  std::vector<float> part(kRowsAtOnce * cols);
  for (int64_t row = 0; row < code.rows; row += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, code.rows - row);
    const std::span<float> out(part.data(), static_cast<std::size_t>(count) * cols);
    code.layout->unpack(views, code.rows, code.cols, row, count, out);
    CUPEL_CHECK(std::memcmp(out.data(), decoded.data() + static_cast<std::size_t>(row) * cols,
                            out.size_bytes()) == 0,
                internal, "rows ", row, " to ", row + count, " differ after packing (",
                code.layout->description(), ")");
  }
}

PackedWeight packed(std::string name, WeightCode code) {
  return in_frame("packing " + name, [&] {
    CUPEL_ASSERT(code.layout != nullptr);
    format::Planes planes = code.layout->pack(code);
    check_packing(code, planes);
    code.arrays.clear();
    return PackedWeight{std::move(name), std::move(code), std::move(planes)};
  });
}

}  // namespace

bool Packer::has_room(int64_t weights) const {
  return running_.empty() ||
         (static_cast<int>(running_.size()) < threads_ && in_work_ + weights <= most_);
}

void Packer::add(std::string name, WeightCode code) {
  const int64_t weights = code.rows * code.cols;
  in_work_ += weights;
  running_.push_back(
      {std::async(std::launch::async, packed, std::move(name), std::move(code)), weights});
}

PackedWeight Packer::next() {
  CUPEL_ASSERT(!running_.empty());
  Running first = std::move(running_.front());
  running_.pop_front();
  in_work_ -= first.weights;
  return first.result.get();
}

}  // namespace cupel::export_
