// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/metric.h"

/// The metrics that a recipe can name, and what they share. Internal to core. Axes: q groups of
/// outputs.
namespace cupel::core {

struct NoneMetricParams : Params {
  void visit(ParamVisitor&) override {}
};
struct ActivationMetricParams : Params {
  void visit(ParamVisitor&) override {}
};
struct AsymmetricMetricParams : Params {
  double strength = 1;
  void visit(ParamVisitor& v) override;
};
struct FisherMetricParams : Params {
  void visit(ParamVisitor&) override {}
};
struct GuidedMetricParams : Params {
  int groups = 4;
  void visit(ParamVisitor& v) override;
};
struct TwoSidedMetricParams : Params {
  double output_damp = 0.01;
  void visit(ParamVisitor& v) override;
};

std::unique_ptr<const MetricProvider> make_none_metric(const NoneMetricParams& params);
std::unique_ptr<const MetricProvider> make_activation_metric(const ActivationMetricParams& params);
std::unique_ptr<const MetricProvider> make_asymmetric_metric(const AsymmetricMetricParams& params);
std::unique_ptr<const MetricProvider> make_fisher_metric(const FisherMetricParams& params);
std::unique_ptr<const MetricProvider> make_guided_metric(const GuidedMetricParams& params);
std::unique_ptr<const MetricProvider> make_two_sided_metric(const TwoSidedMetricParams& params);

/// H (a sum over tokens) in the basis of the transform, on the weights' device; undefined without
/// tokens.
at::Tensor moment_of(const MetricSource& source);
/// Factorises; a failure becomes the fallback of `out`.
std::shared_ptr<const Factor> factor_of(const at::Tensor& h_ii, int64_t tokens,
                                        const MetricSource& source, PreparedMetric& out);
/// "damping 0.01, 3 inputs always zero".
std::string describe(const Factor& factor);
/// The activation metric itself, which others add to; by another second moment (a sum over the
/// tokens, in the basis of the transform) where that is given.
PreparedMetric activation_metric(const MetricSource& source);
PreparedMetric activation_metric(const MetricSource& source, const at::Tensor& h_ii);

}  // namespace cupel::core
