// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/grids.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::format {

namespace {

/// The inverse of the normal distribution function, by bisection on erfc: 1e-15 is enough here.
double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int step = 0; step < 200; ++step) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

std::vector<float> normal_float(int bits) {
  CUPEL_ASSERT(bits >= 2 && bits <= 8);
  // The quantile of the outermost level: midway between those of 2^bits and 2^bits - 1 even steps.
  const int count = 1 << bits, half = count / 2;
  const double outer = 1 - 0.5 * (1.0 / (2.0 * count) + 1.0 / (2.0 * (count - 1)));
  std::vector<double> levels = {0};
  for (int k = 0; k < half; ++k)  // above zero
    levels.push_back(normal_quantile(outer + (0.5 - outer) * k / half));
  for (int k = 0; k < half - 1; ++k)  // below
    levels.push_back(-normal_quantile(outer + (0.5 - outer) * k / (half - 1)));
  std::ranges::sort(levels);
  std::vector<float> out;
  for (const double l : levels) out.push_back(static_cast<float>(l / levels.back()));
  return out;
}

namespace {

/// Positive halves of the tables of 2 to 6 bits in whole numbers, so that kernels can sum products
/// of integers: the numbers up to 127 with the least squared error. Above the best real levels by
/// 0.00, 0.00, 0.09, 0.67 and 2.04 %.
const std::vector<std::vector<int>>& whole_gaussian_levels() {
  static const std::vector<std::vector<int>> tables = {
      {36, 120},
      {13, 40, 71, 114},
      {6, 18, 30, 43, 57, 73, 93, 123},
      {2, 7, 12, 17, 22, 27, 32, 38, 44, 50, 57, 65, 74, 84, 97, 118},
      {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
       33, 36, 39, 42, 45, 48, 51, 54, 58, 62, 66, 71, 77, 84, 93, 108}};
  return tables;
}

/// Each level is the mean of its cell, each border the middle of two levels.
std::vector<double> best_gaussian_levels(int bits) {
  const auto density = [](double x) { return std::exp(-0.5 * x * x); };
  const auto mass = [](double x) {
    return std::sqrt(std::acos(-1.0) / 2) * std::erf(x / std::sqrt(2.0));
  };
  const auto half = static_cast<std::size_t>(1 << (bits - 1));
  std::vector<double> levels(half);
  for (std::size_t k = 0; k < half; ++k)
    levels[k] = 4.0 * (static_cast<double>(k) + 0.5) / static_cast<double>(half);
  for (int step = 0; step < 20000; ++step) {
    double below = 0;
    std::vector<double> next(half);
    for (std::size_t k = 0; k < half; ++k) {
      const double above = k + 1 < half ? 0.5 * (levels[k] + levels[k + 1]) : 40.0;
      next[k] = (density(below) - density(above)) / (mass(above) - mass(below));
      below = above;
    }
    levels = next;
  }
  return levels;
}

}  // namespace

std::vector<float> gaussian_levels(int bits) {
  CUPEL_ASSERT(bits >= 1 && bits <= 8);
  std::vector<double> positive;
  if (const auto table = static_cast<std::size_t>(bits) - 2; table < whole_gaussian_levels().size())
    positive.assign(whole_gaussian_levels()[table].begin(), whole_gaussian_levels()[table].end());
  else
    positive = best_gaussian_levels(bits);
  std::vector<float> out;
  for (std::size_t k = positive.size(); k-- > 0;)
    out.push_back(static_cast<float>(-positive[k] / positive.back()));
  for (const double level : positive) out.push_back(static_cast<float>(level / positive.back()));
  return out;
}

std::vector<float> bnb_fp4() {
  std::vector<float> levels;
  for (const double size : {0.0, 0.0625, 8.0, 12.0, 4.0, 6.0, 2.0, 3.0})
    levels.push_back(static_cast<float>(size / 12.0));
  for (int k = 0; k < 8; ++k) levels.push_back(-levels[static_cast<std::size_t>(k)]);
  return levels;
}

std::vector<float> even_levels(int bits) {
  const int last = (1 << bits) - 1;
  std::vector<float> levels;
  for (int k = 0; k <= last; ++k) levels.push_back(static_cast<float>(-1.0 + 2.0 * k / last));
  return levels;
}

std::vector<float> sinh_levels(int bits, double alpha, double offset) {
  const int last = (1 << bits) - 1;
  std::vector<double> values;
  double largest = 0;
  for (int k = 0; k <= last; ++k) {
    const double u = -1.0 + 2.0 * k / last + offset;
    values.push_back(alpha > 1e-6 ? std::sinh(alpha * u) : u);
    largest = std::max(largest, std::fabs(values.back()));
  }
  std::vector<float> levels;
  for (const double v : values) levels.push_back(static_cast<float>(v / largest));
  return levels;
}

}  // namespace cupel::format
