// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: integer and FP8 units multiply inputs that are rounded too.
// Formula: format/input_rounding.h; a static scale minimises sum (x - Q(x))^2 over calibration.
// Source: llm-compressor's W8A8 and FP8 schemes (dynamic per token, static per tensor).
// Cost: static only: the inputs of the group under work stay in memory.
// Differs: a static scale is searched below the largest input, on a histogram of magnitudes.
#include "core/activations.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "core/quantizer.h"
#include "core/rounded_input.h"
#include "core/transform.h"

namespace cupel::core {
namespace {

using format::InputRounding;

enum class ScaleSource { dynamic, from_calibration };

struct NoActivationParams : Params {
  void visit(ParamVisitor&) override {}
};

struct AnyRoundedParams : Params {
  ScaleSource scale = ScaleSource::dynamic;
  int group = 0;
  double clip = 1;
  virtual InputRounding rounding() const = 0;
  void visit(ParamVisitor& v) override {
    v.field("scale", scale, EnumNames{{"dynamic", 0}, {"static", 1}},
            "from each token's own inputs, or one for all from calibration");
    v.field("group", group, "inputs of a token that share a dynamic scale; 0: all of them")
        .in(0, 65536);
    v.field("clip", clip, "share of the largest of them that a dynamic scale reaches").in(0.1, 1);
    v.check(scale == ScaleSource::dynamic || (group == 0 && clip == 1),
            "a static scale is one for all inputs: group must be 0, clip 1");
  }
};

template <InputRounding::Numbers kNumbers, int kBits>
struct RoundedParams : AnyRoundedParams {
  InputRounding rounding() const override {
    return {.numbers = kNumbers, .bits = kBits, .group = group, .clip = static_cast<float>(clip)};
  }
};
using Int8Params = RoundedParams<InputRounding::Numbers::integer, 8>;
using Int4Params = RoundedParams<InputRounding::Numbers::integer, 4>;
using Fp8Params = RoundedParams<InputRounding::Numbers::e4m3, 8>;

/// Null for none.
const AnyRoundedParams* rounded_params(const Choice& activations) {
  return dynamic_cast<const AnyRoundedParams*>(activations.params.get());
}

// Magnitudes of inputs, counted in bins that are fine against the steps of 8 bits.
constexpr int64_t kBins = 16384;
// Candidates for the scale: the largest input on the largest level, then less by 2 % of it each.
constexpr int kCandidates = 45;

struct Magnitudes {
  double largest = 0;
  at::Tensor counts;  ///< [kBins], float64 on the host, of equal parts of [0, largest]
};

Magnitudes magnitudes(const format::InputTransform& transform, const Stats& stats) {
  Magnitudes m;
  for (const at::Tensor& x_ti : stats.inputs)
    m.largest = std::max(
        m.largest, transform_input(transform, x_ti).abs().max().to(at::kDouble).item<double>());
  m.counts = at::zeros({kBins}, at::kDouble);
  if (m.largest < format::kTinyGroup) return m;
  for (const at::Tensor& x_ti : stats.inputs)
    m.counts.add_(
        at::histc(transform_input(transform, x_ti).abs(), kBins, 0, m.largest).to(at::kCPU));
  return m;
}

/// The scale with the least squared error over the histogram.
float best_scale(InputRounding r, const Magnitudes& m) {
  const at::Tensor x_b = (at::arange(kBins, at::kFloat) + 0.5) * (m.largest / kBins);
  const double widest = m.largest / static_cast<double>(format::largest_level(r));
  double least = -1;
  float best = 0;
  for (int c = 0; c < kCandidates; ++c) {
    r.scale = std::max(static_cast<float>(widest * (1 - 0.02 * c)), format::kTinyGroup);
    const at::Tensor e_b = (x_b - round_input(r, x_b)).to(at::kDouble);
    const double error = (e_b * e_b * m.counts).sum().item<double>();
    if (least >= 0 && error >= least) continue;
    least = error;
    best = r.scale;
  }
  return best;
}

/// Why there is no static scale; empty: there is.
std::string no_scale(const Stats& stats) {
  if (stats.tokens <= 0) return "no calibration token reached it";
  CUPEL_ASSERT(!stats.inputs.empty());
  bool zero = true;
  for (const at::Tensor& x_ti : stats.inputs) {
    if (!at::isfinite(x_ti).all().item<bool>()) return "its inputs hold NaN or infinity";
    zero = zero && x_ti.abs().max().item<float>() < format::kTinyGroup;
  }
  return zero ? "its input was zero at every token" : "";
}

template <class P>
Alternative alternative(const char* name, const char* doc) {
  return {name, doc, [] { return std::make_shared<P>(); }};
}

}  // namespace

const std::vector<Alternative>& activation_alternatives() {
  static const std::vector<Alternative> list = {
      alternative<NoActivationParams>("none", "the runtime's own precision, about 15 bits"),
      alternative<Int8Params>("int8", "integers from -127 to 127"),
      alternative<Int4Params>("int4", "integers from -7 to 7"),
      alternative<Fp8Params>("fp8", "E4M3 numbers up to 448")};
  return list;
}

Needs activation_needs(const Choice& activations) {
  const AnyRoundedParams* p = rounded_params(activations);
  return {.inputs = p && p->scale == ScaleSource::from_calibration};
}

std::string activation_text(const Choice& activations) {
  const AnyRoundedParams* p = rounded_params(activations);
  if (!p) return "";
  return p->scale == ScaleSource::dynamic ? description(p->rounding())
                                          : numbers_name(p->rounding()) + ", static scale";
}

ChosenRounding rounding_for(const Choice& activations, const format::InputTransform& transform,
                            const Stats& stats) {
  const c10::NoGradGuard no_grad;
  const AnyRoundedParams* p = rounded_params(activations);
  if (!p) return {};
  ChosenRounding chosen{p->rounding(), ""};
  if (p->scale == ScaleSource::dynamic) return chosen;
  const std::string why = no_scale(stats);
  if (why.empty())
    chosen.rounding.scale = best_scale(chosen.rounding, magnitudes(transform, stats));
  else
    chosen.fallback = cat("inputs scaled token by token: ", why);
  return chosen;
}

void round_inputs(const Choice& activations, std::span<MatrixResult> results, const Stats& stats) {
  if (results.empty()) return;
  const format::InputTransform& transform = results.front().code.input;
  const InputRounding& own = results.front().code.rounding;
  const ChosenRounding chosen =
      own.none() ? rounding_for(activations, transform, stats) : ChosenRounding{own, ""};
  if (chosen.rounding.none()) return;
  for (MatrixResult& result : results) {
    CUPEL_ASSERT(result.code.input.id == transform.id);
    result.code.rounding = chosen.rounding;
    add_note(result, "inputs " + description(chosen.rounding));
  }
  add_fallback(results, chosen.fallback);
}

}  // namespace cupel::core
