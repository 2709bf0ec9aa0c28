// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace cupel::format {
namespace {

using Frequencies = std::vector<double>;

Frequencies plain(double theta, int64_t dims) {
  Frequencies f(static_cast<std::size_t>(dims / 2));
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
  return f;
}

/// theta grows with the sequence, so that the slowest pair is stretched by the whole factor.
double dynamic_theta(const Rope& rope, int64_t dims, int64_t length) {
  const auto original = static_cast<double>(rope.original_positions), d = static_cast<double>(dims);
  const double longest = std::max(original, static_cast<double>(length));
  return rope.theta * std::pow(rope.factor * longest / original - (rope.factor - 1), d / (d - 2));
}

/// Long waves are stretched, short ones kept, those between mixed.
void llama3(const Rope& rope, Frequencies& f) {
  const auto original = static_cast<double>(rope.original_positions);
  for (double& x : f) {
    const double wave = 2 * std::numbers::pi / x;
    if (wave > original / rope.low_freq_factor) {
      x /= rope.factor;
    } else if (wave >= original / rope.high_freq_factor) {
      const double smooth =
          (original / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
      x = (1 - smooth) * x / rope.factor + smooth * x;
    }
  }
}

/// A ramp over the pairs between those that turn beta_fast and beta_slow times in the old context.
void yarn(const Rope& rope, int64_t dims, Frequencies& f) {
  const auto border = [&](double turns) {
    return static_cast<double>(dims) *
           std::log(static_cast<double>(rope.original_positions) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = border(rope.beta_fast), high = border(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dims - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = f[i] * (1 - ramp) + f[i] / rope.factor * ramp;
  }
}

void longrope(const Rope& rope, int64_t length, Frequencies& f) {
  const auto& factors = length > rope.original_positions ? rope.long_factor : rope.short_factor;
  CUPEL_CHECK(factors.size() == f.size(), data, "longrope has ", factors.size(), " factors for ",
              f.size(), " rotary pairs");
  for (std::size_t i = 0; i < f.size(); ++i) f[i] /= factors[i];
}

double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1;
}

}  // namespace

void check_rope_type(const std::string& type) {
  const std::vector<std::string> known = {"default", "linear", "dynamic",
                                          "llama3",  "yarn",   "longrope"};
  CUPEL_CHECK(std::ranges::find(known, type) != known.end(), data, "rope type '", type,
              "' is not supported (known: ", list_text(known), ")");
}

Frequencies rope_frequencies(const Rope& rope, int64_t dims, int64_t length) {
  check_rope_type(rope.type);
  if (rope.type == "dynamic") return plain(dynamic_theta(rope, dims, length), dims);
  Frequencies f = plain(rope.theta, dims);
  if (rope.type == "linear") {
    for (double& x : f) x /= rope.factor;
  } else if (rope.type == "llama3") {
    llama3(rope, f);
  } else if (rope.type == "yarn") {
    yarn(rope, dims, f);
  } else if (rope.type == "longrope") {
    longrope(rope, length, f);
  }
  return f;
}

double rope_magnitude(const Rope& rope) {
  if (rope.type != "yarn" && rope.type != "longrope") return 1;
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.type == "longrope") {
    if (rope.factor <= 1) return 1;
    return std::sqrt(1 + std::log(rope.factor) /
                             std::log(static_cast<double>(rope.original_positions)));
  }
  if (rope.mscale != 0 && rope.mscale_all_dim != 0)
    return yarn_magnitude(rope.factor, rope.mscale) /
           yarn_magnitude(rope.factor, rope.mscale_all_dim);
  return yarn_magnitude(rope.factor, 1);
}

double rope_score_scale(const Rope& rope) {
  if (rope.type != "yarn" || rope.mscale_all_dim == 0) return 1;
  const double m = yarn_magnitude(rope.factor, rope.mscale_all_dim);
  return m * m;
}

bool rope_depends_on_length(const Rope& rope) {
  return rope.type == "dynamic" || rope.type == "longrope";
}

}  // namespace cupel::format
