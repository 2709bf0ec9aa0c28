// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// What every quantization method promises, on every layout and transform: the registries say which
// there are.

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/code.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "quant/methods.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel {
namespace {

using core::MatrixGroup;
using core::MatrixResult;
using core::Stats;

using quant::testing::methods;

struct Case {
  std::string method;
  std::string recipe;  ///< layout and transform as YAML
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.method << ": " << c.recipe;
}

std::vector<std::string> layouts() {
  std::vector<std::string> all;
  for (const Alternative& layout : format::layout_alternatives()) {
    all.push_back(layout.name);
    if (layout.name != "uniform") continue;
    for (const int bits : {2, 3, 4, 8})
      for (const bool symmetric : {true, false})
        for (const int group : {32, 64, 0})
          all.push_back(
              cat("{uniform: {bits: ", bits, ", group: ", group, ", symmetric: ", symmetric, "}}"));
  }
  return all;
}

/// Two transforms on every layout, the others on a few.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& method : methods().entries()) {
    if (quant::testing::plans(method)) continue;
    const auto add = [&](const std::string& layout, const std::string& transform) {
      const Case c{method.name, cat("{layout: ", layout, ", transform: ", transform, "}")};
      if (!quant::testing::refused(c.method, c.recipe)) all.push_back(c);
    };
    for (const std::string& layout : layouts())
      for (const char* transform : {"none", "{hadamard: {block: 64}}"}) add(layout, transform);
    for (const char* layout :
         {"uniform", "{uniform: {bits: 2, group: 32}}", "{dense: {type: f16}}"}) {
      for (const Alternative& scaling : core::transform_alternatives())
        if (scaling.name != "none" && scaling.name != "hadamard") add(layout, scaling.name);
      add(layout, "{hadamard: {block: 0}}");
      add(layout, "{hadamard: {block: 12, before: awq}}");
    }
  }
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = cat(info.index, "_");
  for (const char c : cat(info.param.method, "_", info.param.recipe))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

constexpr int64_t kInputs = 168;  // divided by no group, 8 times an odd number

/// A fused group: an odd number of rows, one row, as many as a stripe.
MatrixGroup sample_group() {
  MatrixGroup group{.id = "model.layers.0.test"};
  for (const int64_t rows : {37, 1, 16}) {
    group.names.push_back(cat("matrix", rows));
    group.weights_oi.push_back(0.05 * core::testing::normals({rows, kInputs}, group.names.back()));
  }
  return group;
}

Stats sample_stats() {
  static const Stats stats =
      core::testing::stats_of(core::testing::correlated_inputs(400, kInputs, "x"));
  return stats;
}

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  // Waking threads for matrices this small costs more than it saves.
  void SetUp() override { at::set_num_threads(1); }

  static std::shared_ptr<Params> params_of(const std::string& method, const std::string& yaml) {
    return quant::testing::params_of(method, yaml);
  }
  static std::unique_ptr<core::Quantizer> make(const std::string& method) {
    return quant::testing::make(method, quant::testing::quick(method, GetParam().recipe));
  }
  /// Rounding to nearest with the case's own layout, transform and rule for scales.
  static std::unique_ptr<core::Quantizer> make_plain() {
    auto plain = params_of("rtn", GetParam().recipe);
    const std::string text = params_json(*params_of(GetParam().method, GetParam().recipe));
    const auto wanted = nlohmann::json::parse(text),
               known = nlohmann::json::parse(params_json(*plain));
    if (!wanted.contains("scale") || !known.contains("scale"))
      return methods().at("rtn").make(plain);
    std::string recipe = GetParam().recipe;
    recipe.insert(recipe.rfind('}'), ", scale: " + wanted["scale"].get<std::string>());
    return methods().at("rtn").make(params_of("rtn", recipe));
  }
  /// Whether the method itself reads statistics, apart from its transform.
  static bool method_uses_statistics() {
    return methods().at(GetParam().method).make(params_of(GetParam().method, "{}"))->needs().any();
  }
  /// With gradients of the loss for methods that want them, where there are statistics.
  static std::vector<MatrixResult> quantize(MatrixGroup group, const Stats& stats,
                                            const std::string& method = GetParam().method) {
    const auto made = make(method);
    std::vector<std::unique_ptr<core::GradientStats>> gradients;
    for (std::size_t m = 0; m < group.names.size() && stats.tokens > 0; ++m) {
      if (!made->gradient_needs().any()) break;
      gradients.push_back(std::make_unique<core::GradientStats>(
          core::testing::gradients_of(made->gradient_needs(), stats.inputs.front(),
                                      group.weights_oi[m].size(0), group.names[m])));
      group.gradients.push_back(gradients.back().get());
    }
    const auto results = made->quantize(group, stats, nullptr, Rng(5, group.id));
    EXPECT_EQ(results.size(), group.weights_oi.size());
    return results;
  }
  static double error_of(const MatrixGroup& group, const std::vector<MatrixResult>& results) {
    double error = 0;
    for (std::size_t m = 0; m < results.size(); ++m)
      error += core::testing::error_under(sample_stats(), group.weights_oi[m],
                                          core::decoded_weight(results[m].code));
    return error;
  }
  /// Groups that differ from the sample in their weights.
  static MatrixGroup group_of(const at::Tensor& w_oi) {
    return {.id = "model.layers.0.test", .names = {"matrix"}, .weights_oi = {w_oi}};
  }
  static bool has_other_objective() {
    return std::ranges::count(quant::testing::kOtherObjectives, GetParam().method) > 0;
  }
  /// Whether it is the error under the second moment that must not rise.
  static bool has_own_error() {
    return has_other_objective() || make(GetParam().method)->gradient_needs().any();
  }
  static bool has_hadamard() { return GetParam().recipe.find("hadamard") != std::string::npos; }
  static bool has_transform() {
    return GetParam().recipe.find("transform: none") == std::string::npos;
  }
};

void expect_same(const MatrixResult& a, const MatrixResult& b) {
  EXPECT_EQ(a.code.input.id, b.code.input.id);
  EXPECT_EQ(a.code.input.signs, b.code.input.signs);
  EXPECT_EQ(a.code.input.scale, b.code.input.scale);
  ASSERT_EQ(a.code.arrays.size(), b.code.arrays.size());
  for (const auto& [name, array] : a.code.arrays)
    EXPECT_EQ(array.bytes, b.code.arrays.at(name).bytes) << name;
}

void expect_plain_rounding(const std::vector<MatrixResult>& results,
                           const std::vector<MatrixResult>& plain, bool method_uses_statistics,
                           bool transform_does) {
  for (std::size_t m = 0; m < results.size(); ++m) {
    EXPECT_TRUE(
        at::equal(core::decoded_weight(results[m].code), core::decoded_weight(plain[m].code)));
    const std::string& fallback = results[m].fallback;
    EXPECT_EQ(fallback.starts_with("plain rounding: "), method_uses_statistics) << fallback;
    EXPECT_EQ(fallback.find("no scaling of inputs: ") != std::string::npos, transform_does)
        << fallback;
  }
}

TEST_P(Conformance, SameSeedSameBytesOnAnyNumberOfThreads) {
  const MatrixGroup group = sample_group();
  const auto first = quantize(group, sample_stats());
  at::set_num_threads(2);
  const auto second = quantize(group, sample_stats());
  for (std::size_t m = 0; m < first.size(); ++m) expect_same(first[m], second[m]);
}

TEST_P(Conformance, ErrorIsNotAboveRoundToNearest) {
  if (has_own_error()) GTEST_SKIP() << "it minimises another error";
  const MatrixGroup group = sample_group();
  const auto results = quantize(group, sample_stats()),
             plain = quantize(group, sample_stats(), "rtn");
  EXPECT_LE(error_of(group, results), error_of(group, plain));
  for (const MatrixResult& r : results) EXPECT_EQ(r.fallback, "");
}

TEST_P(Conformance, KeepsShapeAndLayout) {
  const MatrixGroup group = sample_group();
  const auto method = make(GetParam().method);
  const auto results = method->quantize(group, sample_stats(), nullptr, Rng(5, group.id));
  for (std::size_t m = 0; m < results.size(); ++m) {
    EXPECT_EQ(results[m].code.layout->name(), method->layout()->name());
    EXPECT_EQ(results[m].code.rows, group.weights_oi[m].size(0));
    EXPECT_EQ(results[m].code.cols, kInputs);
    EXPECT_EQ(results[m].code.input.identity(), results[0].code.input.identity());
    if (!has_transform()) {
      EXPECT_TRUE(results[m].code.input.identity());
    }
    EXPECT_EQ(results[m].code.input.hadamard > 0, has_hadamard());
    EXPECT_EQ(results[m].code.input.id, results[0].code.input.id);
    EXPECT_TRUE(at::isfinite(core::decoded_weight(results[m].code)).all().item<bool>());
  }
}

TEST_P(Conformance, PacksIntoTheBitsItClaimsAndBack) {
  for (const MatrixResult& r : quantize(sample_group(), sample_stats())) {
    const format::WeightCode& code = r.code;
    const format::Planes planes = code.layout->pack(code);
    format::PlaneViews views;
    int64_t bytes = 0;
    for (const auto& [name, plane] : planes) {
      bytes += static_cast<int64_t>(plane.bytes.size());
      views[name] = {plane.type, plane.shape, plane.bytes};
    }
    EXPECT_EQ(code.layout->bits(code.rows, code.cols), 8 * bytes);
    at::Tensor unpacked = at::zeros({code.rows, code.cols}, at::kFloat);
    code.layout->unpack(
        views, code.rows, code.cols, 0, code.rows,
        {unpacked.mutable_data_ptr<float>(), static_cast<std::size_t>(unpacked.numel())});
    EXPECT_TRUE(at::equal(unpacked, core::decode(code)));
    const auto arrays = code.layout->unpack_arrays(views, code.rows, code.cols);
    ASSERT_EQ(arrays.size(), code.arrays.size());
    for (const auto& [name, array] : code.arrays)
      EXPECT_EQ(arrays.at(name).bytes, array.bytes) << name;
  }
}

TEST_P(Conformance, ZerosStayZeros) {
  const auto results = quantize(group_of(at::zeros({5, kInputs}, at::kFloat)), sample_stats());
  EXPECT_TRUE(
      at::equal(core::decoded_weight(results[0].code), at::zeros({5, kInputs}, at::kFloat)));
}

TEST_P(Conformance, ConstantsAndTinyWeightsAreNoTrouble) {
  for (const double value : {0.02, -0.02, 1e-8}) {
    const MatrixGroup group = group_of(at::full({5, kInputs}, value, at::kFloat));
    const auto results = quantize(group, sample_stats()),
               plain = quantize(group, sample_stats(), "rtn");
    EXPECT_TRUE(at::isfinite(core::decoded_weight(results[0].code)).all().item<bool>());
    // Below float16's resolution there is nothing to compare.
    if (std::abs(value) > 1e-6 && !has_own_error()) {
      EXPECT_LE(error_of(group, results), 1.001 * error_of(group, plain)) << value;
    }
  }
}

TEST_P(Conformance, RefusesWeightsThatAreNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    MatrixGroup group = sample_group();
    group.weights_oi[2][3][4].fill_(bad);
    try {
      quantize(group, sample_stats());
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data);
      EXPECT_NE(e.message().find("matrix16"), std::string::npos) << e.message();
    }
  }
}

TEST_P(Conformance, WeightsOfDeadInputsAreNotLost) {
  Stats stats = sample_stats();
  stats.second_moment_ii = stats.second_moment_ii.clone();
  for (const int64_t axis : {0, 1}) stats.second_moment_ii.slice(axis, 60, 68).fill_(0);
  stats.absmax_i = stats.absmax_i.clone();
  stats.absmax_i.slice(0, 60, 68).fill_(0);
  stats.abs_sum_i = stats.abs_sum_i.clone();
  stats.abs_sum_i.slice(0, 60, 68).fill_(0);
  const MatrixGroup group = sample_group();
  const auto results = quantize(group, stats);
  for (std::size_t m = 0; m < results.size(); ++m) {
    const at::Tensor w = group.weights_oi[m].slice(1, 60, 68);
    const at::Tensor error = core::decoded_weight(results[m].code).slice(1, 60, 68) - w;
    EXPECT_TRUE(at::isfinite(error).all().item<bool>());
    // Mixed with others, a dead input may take the error of its block.
    if (!has_transform()) {
      EXPECT_LT((error * error).sum().item<double>(), (w * w).sum().item<double>());
    }
    EXPECT_EQ(results[m].fallback, "");
  }
}

TEST_P(Conformance, UnusableStatisticsMeanPlainRoundingThatIsNamed) {
  if (has_other_objective() ||
      std::ranges::count(quant::testing::kOwnPlainForm, GetParam().method) > 0)
    GTEST_SKIP() << "it never rounds plainly";
  const MatrixGroup group = sample_group();
  const auto plain_method = make_plain();
  Stats poisoned = sample_stats(), silent = sample_stats();
  poisoned.second_moment_ii = poisoned.second_moment_ii.clone();
  poisoned.second_moment_ii[7][9].fill_(std::numeric_limits<double>::quiet_NaN());
  poisoned.absmax_i = poisoned.absmax_i.clone();
  poisoned.absmax_i[3].fill_(std::numeric_limits<double>::infinity());
  silent.second_moment_ii = at::zeros({kInputs, kInputs}, at::kDouble);
  silent.absmax_i = at::zeros({kInputs}, at::kDouble);
  silent.abs_sum_i = at::zeros({kInputs}, at::kDouble);
  for (const Stats& stats : {Stats{}, poisoned, silent})
    expect_plain_rounding(quantize(group, stats),
                          plain_method->quantize(group, stats, nullptr, Rng(5, group.id)),
                          method_uses_statistics(), plain_method->needs().any());
}

TEST_P(Conformance, ParametersSurviveYaml) {
  const auto params = params_of(GetParam().method, GetParam().recipe);
  const auto again = params_of(GetParam().method, params_yaml(*params));
  EXPECT_EQ(params_json(*again), params_json(*params));
  for (const FieldDoc& field : params_docs(*params)) EXPECT_NE(field.doc, "") << field.name;
}

INSTANTIATE_TEST_SUITE_P(Methods, Conformance, ::testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace cupel
