// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "base/cat.h"
#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

using format::WeightId;

/// One product of a block that is being run: its input, and a zero that was added to its output,
/// whose gradient is that of the output.
struct Product {
  WeightId id;
  at::Tensor x, probe;
};

class Collector {
 public:
  Collector(Model& model, const GradientNeeds& needs) : model_(model), needs_(needs) {}

  void add(const std::vector<int32_t>& ids, const Rng& rng) {
    text_tokens_ += static_cast<int64_t>(ids.size());
    std::vector<at::Tensor> inputs = {model_.embed(ids_tensor(ids, model_.options().device))};
    for (int l = 0; l < model_.layers(); ++l) inputs.push_back(model_.block(l, inputs.back()));
    at::Tensor gradient = head_gradient(inputs.back(), rng);
    inputs.pop_back();
    for (int l = model_.layers() - 1; l >= 0; --l) {
      gradient = block_gradient(l, inputs[static_cast<std::size_t>(l)], gradient, rng);
      CUPEL_CHECK(at::isfinite(gradient).all().item<bool>(), data, "the gradient at layer ", l,
                  " is not finite on calibration text");
    }
  }

  Gradients finish() {
    for (auto& [name, g] : gradients_) g.text_tokens = text_tokens_;
    for (auto& [name, parts] : saliency_) gradients_[name].saliency_tq = at::cat(parts, 0);
    return std::move(gradients_);
  }

 private:
  at::Tensor head_gradient(const at::Tensor& x_nth, const Rng& rng) {
    const c10::AutoGradMode with_gradients(true);
    const at::Tensor leaf = x_nth.detach().requires_grad_(true);
    const at::Tensor logits_tv = model_.logits(leaf)[0];
    const at::Tensor labels = drawn_labels(logits_tv, rng);
    const at::Tensor loss = -at::log_softmax(logits_tv.to(at::kFloat), -1).gather(-1, labels).sum();
    loss.backward();
    return leaf.grad();
  }

  at::Tensor block_gradient(int layer, const at::Tensor& x_nth, const at::Tensor& gradient,
                            const Rng& rng) {
    std::vector<Product> products;
    const ProductHook hook = [&](const WeightId& id, const at::Tensor& x, const at::Tensor& y) {
      if (!format::is_matrix(id.role)) return y;
      const at::Tensor probe = at::zeros_like(y).requires_grad_(true);
      products.push_back({id, x.detach(), probe});
      return y + probe;
    };
    const at::Tensor leaf = x_nth.detach().requires_grad_(true);
    {
      const c10::AutoGradMode with_gradients(true);
      model_.block(layer, leaf, {}, nullptr, hook).backward(gradient);
    }
    for (const Product& p : products)
      if (p.probe.grad().defined()) add_product(p, rng);
    return leaf.grad();
  }

  void add_product(const Product& p, const Rng& rng) {
    const std::string name = canonical_name(model_.config().architecture(), p.id);
    const at::Tensor x_ti = p.x.reshape({-1, p.x.size(-1)}).to(at::kFloat);
    const at::Tensor g_to = p.probe.grad().reshape({-1, p.probe.size(-1)}).to(at::kFloat);
    GradientStats& s = gradients_[name];
    s.tokens += x_ti.size(0);
    ++s.sequences;
    if (needs_.fisher) {
      const at::Tensor dw_oi = at::matmul(g_to.t(), x_ti).cpu();
      if (!s.fisher_oi.defined()) {
        s.fisher_oi = at::zeros_like(dw_oi);
        s.gradient_oi = at::zeros_like(dw_oi);
      }
      s.fisher_oi.add_(dw_oi * dw_oi);
      s.gradient_oi.add_(dw_oi);
    }
    if (needs_.output_moment) {
      const at::Tensor moment = at::matmul(g_to.t(), g_to).to(at::kCPU, at::kDouble);
      if (s.output_moment_oo.defined())
        s.output_moment_oo.add_(moment);
      else
        s.output_moment_oo = moment;
    }
    if (needs_.groups > 0) saliency_[name].push_back(saliency(g_to).cpu());
    if (needs_.sketch > 0) add_sketch(s, p.id, x_ti, g_to, rng);
  }

  /// An expert sees tokens of its own: its signs are its own, so that what it shares with matrices
  /// outside of it comes out as nothing.
  void add_sketch(GradientStats& s, const WeightId& id, const at::Tensor& x_ti,
                  const at::Tensor& g_to, const Rng& rng) const {
    const std::string owner = id.expert < 0 ? "" : cat(id.layer, " ", id.expert);
    const auto sums = [&](const char* side, const at::Tensor& values) {
      const at::Tensor signs_rt =
          token_signs(needs_.sketch, values.size(0), rng.child(cat(side, owner)));
      return at::matmul(signs_rt.to(values.device()), values).cpu();
    };
    const at::Tensor x_ri = sums("inputs", x_ti), g_ro = sums("gradients", g_to);
    s.input_sketch_ri = s.input_sketch_ri.defined() ? s.input_sketch_ri.add_(x_ri) : x_ri;
    s.gradient_sketch_ro = s.gradient_sketch_ro.defined() ? s.gradient_sketch_ro.add_(g_ro) : g_ro;
    s.input_energy += x_ti.square().sum(at::kDouble).item<double>();
    s.gradient_energy += g_to.square().sum(at::kDouble).item<double>();
  }

  /// [t, q]; groups are as equal as the outputs allow.
  at::Tensor saliency(const at::Tensor& g_to) const {
    const int64_t outputs = g_to.size(1), groups = std::min<int64_t>(needs_.groups, outputs);
    std::vector<at::Tensor> columns;
    for (int64_t q = 0; q < groups; ++q)
      columns.push_back(
          g_to.slice(1, q * outputs / groups, (q + 1) * outputs / groups).square().mean(1, true));
    return at::cat(columns, 1);
  }

  Model& model_;
  GradientNeeds needs_;
  Gradients gradients_;
  std::map<std::string, std::vector<at::Tensor>> saliency_;
  int64_t text_tokens_ = 0;
};

}  // namespace

at::Tensor drawn_labels(const at::Tensor& logits_tv, Rng rng) {
  const at::Tensor cumulative = at::softmax(logits_tv.detach().to(at::kFloat), -1).cumsum(-1);
  at::Tensor u = at::empty({logits_tv.size(0), 1}, at::kFloat);
  for (int64_t t = 0; t < u.size(0); ++t)
    u.mutable_data_ptr<float>()[t] = static_cast<float>(rng.uniform());
  const at::Tensor scaled = u.to(logits_tv.device()) * cumulative.slice(1, -1);
  return at::searchsorted(cumulative, scaled).clamp_max(logits_tv.size(1) - 1);
}

at::Tensor token_signs(int64_t width, int64_t tokens, Rng rng) {
  at::Tensor signs = at::empty({width, tokens}, at::kFloat);
  float* values = signs.mutable_data_ptr<float>();
  uint32_t bits = 0;
  for (int64_t k = 0; k < width * tokens; ++k) {
    bits = k % 32 == 0 ? rng.next_u32() : bits >> 1;
    values[k] = (bits & 1) != 0 ? 1.0f : -1.0f;
  }
  return signs;
}

bool GradientStats::finite() const {
  for (const at::Tensor* t : {&fisher_oi, &gradient_oi, &output_moment_oo, &saliency_tq,
                              &guided_qii, &input_sketch_ri, &gradient_sketch_ro})
    if (t->defined() && !at::isfinite(*t).all().item<bool>()) return false;
  return true;
}

Gradients collect_gradients(Model& model, const std::vector<std::vector<int32_t>>& sequences,
                            const GradientNeeds& needs, const Rng& rng) {
  const c10::NoGradGuard no_grad;
  Collector collector(model, needs);
  for (std::size_t n = 0; n < sequences.size(); ++n)
    collector.add(sequences[n], rng.child(static_cast<uint64_t>(n)));
  return collector.finish();
}

at::Tensor fisher_weights(const GradientStats& stats) {
  const double mean = stats.fisher_oi.to(at::kDouble).mean().item<double>();
  return host_float(mean > 0 ? stats.fisher_oi / mean : at::zeros_like(stats.fisher_oi) + 1);
}

}  // namespace cupel::core
