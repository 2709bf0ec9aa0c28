// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/sampling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"

namespace cupel::core {
namespace {

/// The first token whose cumulated probability exceeds u; float64 on the host, so that every device
/// draws alike.
int64_t draw(const double* p_v, int64_t vocab, double u) {
  double sum = 0;
  int64_t last = 0;
  for (int64_t v = 0; v < vocab; ++v) {
    if (p_v[v] > 0) last = v;
    sum += p_v[v];
    if (sum > u) return v;
  }
  return last;  // u lies in the rounding error of the sum
}

}  // namespace

at::Tensor next_tokens(const at::Tensor& logits_nv, double temperature, std::vector<Rng>& streams) {
  if (temperature == 0) return at::argmax(logits_nv, -1);
  const at::Tensor p_nv =
      at::softmax(logits_nv.to(at::kDouble) / temperature, -1).cpu().contiguous();
  const int64_t vocab = p_nv.size(1);
  at::Tensor ids_n = at::empty({p_nv.size(0)}, at::kLong);
  for (int64_t r = 0; r < p_nv.size(0); ++r)
    ids_n.data_ptr<int64_t>()[r] = draw(p_nv.const_data_ptr<double>() + r * vocab, vocab,
                                        streams[static_cast<std::size_t>(r)].uniform());
  return ids_n.to(logits_nv.device());
}

at::Tensor sample(Model& model, const at::Tensor& prompts_nt, int64_t tokens, double temperature,
                  const Rng& rng) {
  const c10::NoGradGuard no_grad;
  CUPEL_ASSERT(prompts_nt.dim() == 2 && prompts_nt.size(1) > 0 && temperature >= 0);
  std::vector<Rng> streams;
  for (int64_t r = 0; r < prompts_nt.size(0); ++r)
    streams.push_back(rng.child(static_cast<uint64_t>(r)));
  KvCache cache;
  at::Tensor step_nt = prompts_nt.to(model.options().device);
  std::vector<at::Tensor> pieces{step_nt};
  for (int64_t i = 0; i < tokens; ++i) {
    at::Tensor x_nth = model.embed(step_nt);
    for (int l = 0; l < model.layers(); ++l) x_nth = model.block(l, x_nth, {}, &cache);
    cache.length += step_nt.size(1);
    const at::Tensor logits_nv = model.logits(x_nth.select(1, -1));
    CUPEL_CHECK(at::isfinite(logits_nv.sum()).item<bool>(), data,
                "while sampling, the logits at position ", cache.length - 1, " are not finite");
    step_nt = next_tokens(logits_nv, temperature, streams).unsqueeze(1);
    pieces.push_back(step_nt);
  }
  return at::cat(pieces, 1);
}

}  // namespace cupel::core
