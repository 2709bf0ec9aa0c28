// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/integer_grid.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::quant {

std::shared_ptr<const format::UniformLayout> integer_layout(std::string_view method,
                                                            const Choice& layout) {
  auto made = std::dynamic_pointer_cast<const format::UniformLayout>(format::make_layout(layout));
  CUPEL_CHECK(made, user, "quant.", method, " fits integer grids: its layout must be uniform, not ",
              layout.name);
  return made;
}

float stored_scale(float scale) {
  constexpr float kSmallestHalf = 0x1p-24f, kLargestHalf = 65504.0f;
  return format::f16_to_f32(format::f32_to_f16(std::clamp(scale, kSmallestHalf, kLargestHalf)));
}

IntegerArrays::IntegerArrays(format::WeightCode& code, const format::UniformLayout& layout)
    : cols_(code.cols),
      width_(layout.group_width(code.cols)),
      groups_(layout.groups(code.cols)),
      middle_(static_cast<float>(1 << (layout.bits_per_code() - 1))),
      codes_(reinterpret_cast<uint8_t*>(code.arrays.at("codes").bytes.data())),
      scales_(reinterpret_cast<uint16_t*>(code.arrays.at("scales").bytes.data())),
      zeros_(layout.symmetric()
                 ? nullptr
                 : reinterpret_cast<uint8_t*>(code.arrays.at("zeros").bytes.data())) {}

float IntegerArrays::scale(int64_t o, int64_t g) const {
  return format::f16_to_f32(scales_[o * groups_ + g]);
}

float IntegerArrays::zero(int64_t o, int64_t g) const {
  return zeros_ ? static_cast<float>(zeros_[o * groups_ + g]) : middle_;
}

void IntegerArrays::set(int64_t o, int64_t g, float scale, float zero,
                        std::span<const float> codes) {
  CUPEL_ASSERT(codes.size() == static_cast<std::size_t>(std::min(width_, cols_ - g * width_)));
  scales_[o * groups_ + g] = format::f32_to_f16(scale);
  if (zeros_) zeros_[o * groups_ + g] = static_cast<uint8_t>(zero);
  std::ranges::transform(codes, codes_ + o * cols_ + g * width_,
                         [](float code) { return static_cast<uint8_t>(code); });
}

}  // namespace cupel::quant
