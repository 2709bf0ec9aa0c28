// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Every quantization method on every layout, and with every name that a parameter of its own can
// have: the registries say which there are.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/code.h"
#include "core/tensor_util.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel::quant {
namespace {

using core::GradientNeeds;
using core::GradientStats;
using core::MatrixGroup;
using core::MatrixResult;
using core::Stats;
using core::testing::gradients_of;
using testing::methods;

struct Case {
  std::string method, layout;
  std::string variant;  ///< "field: name", or empty
  std::string recipe() const {
    return cat("{layout: ", layout, variant.empty() ? "" : ", ", variant, "}");
  }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.method << ": " << c.recipe();
}

std::vector<std::string> layouts() {
  std::vector<std::string> all;
  for (const Alternative& layout : format::layout_alternatives()) all.push_back(layout.name);
  for (const char* other :
       {"{uniform: {bits: 2, group: 32, symmetric: true}}", "{uniform: {bits: 3, group: 0}}",
        "{uniform: {bits: 1, group: 32}}", "{lut: {grid: nf, bits: 3}}",
        "{mixed: {cols: 32, parts: [{layout: {uniform: {bits: 2}}, share: 0.5}, "
        "{layout: fp8, share: 0.5}]}}",
        "{sum: {base: {uniform: {bits: 3}}, rank: 3, full_rows: 2}}"})
    all.emplace_back(other);
  return all;
}

/// "field: name" for each name of each field of the method itself, its default left out.
std::vector<std::string> variants(const std::string& method) {
  std::vector<std::string> all;
  for (const FieldDoc& f : params_docs(*methods().at(method).params())) {
    const bool named = f.type == "name" || f.type == "choice";
    if (!named || f.name == "layout" || f.name.find('.') != std::string::npos) continue;
    for (std::size_t begin = 0; begin < f.allowed.size();) {
      const std::size_t end = std::min(f.allowed.find(", ", begin), f.allowed.size());
      const std::string name = f.allowed.substr(begin, end - begin);
      if (name != f.value) all.push_back(cat(f.name, ": ", name));
      begin = end + 2;
    }
  }
  return all;
}

/// The layout that a method has by default.
std::string own_layout(const Registry<core::Quantizer>::Entry& method) {
  for (const FieldDoc& f : params_docs(*method.params()))
    if (f.name == "layout") return f.value;
  return "uniform";
}

std::vector<Case> cases(bool refused) {
  std::vector<Case> all;
  const auto add = [&](const Case& c) {
    if (testing::refused(c.method, c.recipe()) == refused) all.push_back(c);
  };
  for (const auto& method : methods().entries()) {
    if (testing::plans(method)) continue;
    for (const std::string& layout : layouts()) add({method.name, layout, ""});
    const std::string own = own_layout(method);
    for (const std::string& variant : variants(method.name)) {
      for (const char* layout : {"uniform", "{uniform: {bits: 2, group: 32}}", "nvfp4"})
        add({method.name, layout, variant});
      if (own != "uniform") add({method.name, own, variant});
    }
    // Scales from calibration are no name of their own.
    for (const char* static_scale : {"activations: {int8: {scale: static}}",
                                     "activations: {fp8: {scale: static}}, transform: hadamard"})
      for (const std::string& layout : std::set<std::string>{"uniform", own})
        add({method.name, layout, static_scale});
  }
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = cat(info.index, "_");
  for (const char c : cat(info.param.method, info.param.recipe()))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

constexpr int64_t kTokens = 240;

/// A group with its statistics; matrices are named by their rows.
struct Sample {
  MatrixGroup group;
  Stats stats;
  std::vector<std::unique_ptr<GradientStats>> gradients;
};

Sample sample(const GradientNeeds& needs, std::vector<int64_t> rows, int64_t inputs,
              int64_t dead = -1) {
  Sample s{.group = {.id = "model.layers.0.test"}};
  const at::Tensor x_ti = core::testing::correlated_inputs(kTokens, inputs, cat("x", inputs));
  if (dead >= 0) x_ti.select(1, dead).zero_();
  s.stats = core::testing::stats_of(x_ti);
  for (const int64_t n : rows) {
    const std::string name = cat("matrix", n);
    s.group.names.push_back(name);
    s.group.weights_oi.push_back(0.05 * core::testing::normals({n, inputs}, name));
    s.gradients.push_back(std::make_unique<GradientStats>(gradients_of(needs, x_ti, n, name)));
    s.group.gradients.push_back(needs.any() ? s.gradients.back().get() : nullptr);
  }
  return s;
}

class MethodConformance : public ::testing::TestWithParam<Case> {
 protected:
  // Waking threads for matrices this small costs more than it saves.
  void SetUp() override {
    at::set_num_threads(1);
    method_ = make(GetParam().recipe());
  }
  static std::unique_ptr<core::Quantizer> make(const std::string& recipe) {
    return testing::make(GetParam().method, testing::quick(GetParam().method, recipe));
  }
  Sample usual() const { return sample(method_->gradient_needs(), {24, 40}, 96); }
  static std::vector<MatrixResult> run(const core::Quantizer& method, const Sample& s) {
    auto results =
        testing::quantize(method, GetParam().method, GetParam().recipe(), s.group, s.stats);
    EXPECT_EQ(results.size(), s.group.names.size());
    return results;
  }
  std::vector<MatrixResult> run(const Sample& s) const { return run(*method_, s); }
  /// Finite, of the right shape, and nothing was left out.
  static void expect_sound(const Sample& s, const std::vector<MatrixResult>& results) {
    for (std::size_t m = 0; m < results.size(); ++m) {
      const at::Tensor v_oi = core::decoded_weight(results[m].code);
      EXPECT_EQ(v_oi.sizes(), s.group.weights_oi[m].sizes());
      EXPECT_TRUE(at::isfinite(v_oi).all().item<bool>());
      EXPECT_EQ(results[m].fallback, "");
    }
  }
  static double error_of(const Sample& s, const std::vector<MatrixResult>& results) {
    double error = 0;
    for (std::size_t m = 0; m < results.size(); ++m)
      error += core::testing::error_under(s.stats, s.group.weights_oi[m],
                                          core::decoded_weight(results[m].code));
    return error;
  }
  std::unique_ptr<core::Quantizer> method_;
};

void expect_packs(const format::WeightCode& code) {
  const format::Planes planes = code.layout->pack(code);
  format::PlaneViews views;
  int64_t bytes = 0;
  for (const auto& [name, plane] : planes) {
    bytes += static_cast<int64_t>(plane.bytes.size());
    views[name] = {plane.type, plane.shape, plane.bytes};
  }
  EXPECT_EQ(code.layout->bits(code.rows, code.cols), 8 * bytes);
  const auto arrays = code.layout->unpack_arrays(views, code.rows, code.cols);
  ASSERT_EQ(arrays.size(), code.arrays.size());
  for (const auto& [name, array] : code.arrays)
    EXPECT_EQ(arrays.at(name).bytes, array.bytes) << name;
  at::Tensor v_oi = at::zeros({code.rows, code.cols}, at::kFloat);
  code.layout->unpack(views, code.rows, code.cols, 0, code.rows,
                      {v_oi.mutable_data_ptr<float>(), static_cast<std::size_t>(v_oi.numel())});
  EXPECT_TRUE(at::equal(v_oi, core::decode(code)));
}

TEST_P(MethodConformance, SameSeedSameBytes) {
  const Sample s = usual();
  const auto first = run(s);
  at::set_num_threads(2);
  const auto second = run(*make(GetParam().recipe()), s);
  expect_sound(s, first);
  for (std::size_t m = 0; m < first.size(); ++m) {
    const format::WeightCode &a = first[m].code, &b = second[m].code;
    EXPECT_EQ(a.input.scale, b.input.scale);
    EXPECT_EQ(a.input.signs, b.input.signs);
    EXPECT_EQ(params_json(a.layout->params()), params_json(b.layout->params()));
    ASSERT_EQ(a.arrays.size(), b.arrays.size());
    for (const auto& [name, array] : a.arrays)
      EXPECT_EQ(array.bytes, b.arrays.at(name).bytes) << name;
  }
}

TEST_P(MethodConformance, ErrorIsNotAboveRoundToNearest) {
  const bool other = std::ranges::count(testing::kOtherObjectives, GetParam().method) > 0;
  if (other || method_->gradient_needs().any()) GTEST_SKIP() << "it minimises another error";
  // To nearest in the same basis and by the same rule for scales, if the recipe names them.
  Case plain = GetParam();
  const std::string field = plain.variant.substr(0, plain.variant.find(':'));
  if (field == "metric" || !testing::has_field("rtn", field)) plain.variant.clear();
  const Sample s = usual();
  EXPECT_LE(error_of(s, run(s)), 1.02 * error_of(s, run(*testing::make("rtn", plain.recipe()), s)));
}

TEST_P(MethodConformance, PacksIntoTheBitsItClaimsAndBack) {
  for (const MatrixResult& r : run(usual())) {
    EXPECT_EQ(r.code.layout->name(), method_->layout()->name());
    expect_packs(r.code);
  }
}

TEST_P(MethodConformance, InputsAreRoundedAsTheRecipeSays) {
  const auto params = testing::params_of(GetParam().method, GetParam().recipe());
  const Choice& activations = dynamic_cast<core::QuantizerParams&>(*params).activations;
  const bool fixed = core::activation_needs(activations).inputs;
  const auto results = run(usual());
  for (const MatrixResult& r : results) {
    EXPECT_EQ(r.code.rounding, results[0].code.rounding);
    EXPECT_EQ(r.code.rounding.none(), activations.name == "none");
    EXPECT_EQ(r.code.rounding.dynamic(), !fixed);
    if (!fixed) {
      format::InputRounding whole = r.code.rounding;  // a method may clip it
      whole.clip = 1;
      EXPECT_EQ(description(whole), core::activation_text(activations));
    }
    EXPECT_EQ(r.note.find("inputs ") == std::string::npos, activations.name == "none") << r.note;
  }
}

TEST_P(MethodConformance, ZerosStayZeros) {
  Sample s = usual();
  for (at::Tensor& w_oi : s.group.weights_oi) w_oi.zero_();
  for (const MatrixResult& r : run(s))
    EXPECT_EQ(core::decoded_weight(r.code).abs().max().item<float>(), 0.0f);
}

TEST_P(MethodConformance, OneRowOddWidthsAndDeadInputsAreNoTrouble) {
  for (const auto& [rows, inputs, dead] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 96, -1}, {24, 97, -1}, {24, 96, 5}}) {
    SCOPED_TRACE(cat(rows, " x ", inputs, ", dead ", dead));
    const Sample s = sample(method_->gradient_needs(), {rows, 3}, inputs, dead);
    const auto results = run(s);
    expect_sound(s, results);
    for (const MatrixResult& r : results) expect_packs(r.code);
  }
}

TEST_P(MethodConformance, RefusesNaNByTheNameOfTheMatrix) {
  Sample s = usual();
  s.group.weights_oi[1][3][4].fill_(std::numeric_limits<double>::quiet_NaN());
  try {
    run(s);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_NE(e.message().find("matrix40"), std::string::npos) << e.message();
  }
}

TEST_P(MethodConformance, WithoutATokenItSaysWhatItLeftOut) {
  Sample s = usual();
  s.stats = {};
  s.group.gradients = {nullptr, nullptr};
  const auto results = run(s);
  const auto params = testing::params_of(GetParam().method, GetParam().recipe());
  const core::Needs needs =
      method_->needs() |
      core::activation_needs(dynamic_cast<core::QuantizerParams&>(*params).activations);
  for (const MatrixResult& r : results) {
    EXPECT_TRUE(at::isfinite(core::decoded_weight(r.code)).all().item<bool>());
    EXPECT_EQ(r.fallback.empty(), !needs.any()) << r.fallback;
  }
}

TEST_P(MethodConformance, ParametersSurviveYamlAndJson) {
  const auto params = testing::params_of(GetParam().method, GetParam().recipe());
  for (const std::string& text : {params_yaml(*params), params_json(*params)})
    EXPECT_EQ(params_json(*testing::params_of(GetParam().method, text)), params_json(*params));
  for (const FieldDoc& field : params_docs(*params)) EXPECT_NE(field.doc, "") << field.name;
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodConformance, ::testing::ValuesIn(cases(false)), case_name);

class MethodRefusal : public ::testing::TestWithParam<Case> {};

TEST_P(MethodRefusal, IsAUsersErrorThatSaysWhy) {
  try {
    testing::make(GetParam().method, GetParam().recipe());
    ADD_FAILURE() << "not refused: take it off the table";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find(GetParam().method == "gptq" ? "metric" : "layout"),
              std::string::npos)
        << e.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodRefusal, ::testing::ValuesIn(cases(true)), case_name);

}  // namespace
}  // namespace cupel::quant
