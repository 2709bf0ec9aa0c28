// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/cat.h"

#include <cmath>

namespace cupel {

std::string fixed(double value, int digits) {
  // The largest double has 309 digits before the point.
  std::string out(static_cast<std::size_t>(digits) + 330, '\0');
  const auto end =
      std::to_chars(out.data(), out.data() + out.size(), value, std::chars_format::fixed, digits)
          .ptr;
  out.resize(static_cast<std::size_t>(end - out.data()));
  return out;
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  constexpr int kLast = 6;
  double value = std::abs(bytes);
  int unit = 0;
  // 999.5 would be shown as 1000 with three digits.
  while (value >= 999.5 && unit < kLast) {
    value /= 1000;
    ++unit;
  }
  // The same for 9.995 and 99.95: they show one digit less.
  const int digits = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return cat(bytes < 0 ? "-" : "", fixed(value, digits), " ", kUnits[unit]);
}

}  // namespace cupel
