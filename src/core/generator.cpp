// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/generator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "core/sampling.h"

namespace cupel::core {
namespace {

class ModelGenerator final : public text::Generator {
 public:
  ModelGenerator(Model& model, std::shared_ptr<const text::Tokenizer> tokenizer)
      : model_(model), tokenizer_(std::move(tokenizer)) {}

  text::Generation generate(std::span<const text::Token> prompt,
                            const text::GenerateOptions& options,
                            const std::function<bool(std::string_view)>& on_text) override {
    const c10::NoGradGuard no_grad;
    check(prompt, options);
    const auto length = static_cast<int64_t>(prompt.size());
    const int64_t room = model_.config().max_positions - length;
    const int64_t most = options.max_tokens < 0 ? room : std::min(room, options.max_tokens);
    text::Generation out;
    out.prompt_tokens = length;
    std::vector<Rng> streams{Rng(options.sampling.seed)};
    KvCache cache;
    at::Tensor step_nt = at::empty({1, length}, at::kLong);
    std::copy(prompt.begin(), prompt.end(), step_nt.data_ptr<int64_t>());
    while (static_cast<int64_t>(out.tokens.size()) < most) {
      const auto id = static_cast<text::Token>(next(step_nt, cache, options, streams));
      if (!options.ignore_end && ends(id)) {
        out.finish = text::FinishReason::stop;
        break;
      }
      out.tokens.push_back(id);
      if (stopped(out, options.stop)) break;
      step_nt.fill_(id);
    }
    if (!on_text(out.text)) out.finish = text::FinishReason::cancelled;
    return out;
  }

 private:
  void check(std::span<const text::Token> prompt, const text::GenerateOptions& options) const {
    const text::SamplingOptions& s = options.sampling;
    CUPEL_CHECK(
        !prompt.empty() && static_cast<int64_t>(prompt.size()) <= model_.config().max_positions,
        user, "a prompt of ", prompt.size(), " tokens does not fit the model, which takes 1 to ",
        model_.config().max_positions);
    CUPEL_CHECK(s.temperature == 0 || (s.top_k == 0 && s.top_p == 1 && s.min_p == 0), user,
                "the LibTorch engine draws from the whole distribution: top-k, top-p and min-p "
                "must be off");
    CUPEL_CHECK(s.repeat_penalty == 1 && s.bias.empty(), user,
                "the LibTorch engine knows no repeat penalty and no logit bias");
  }

  int64_t next(at::Tensor& step_nt, KvCache& cache, const text::GenerateOptions& options,
               std::vector<Rng>& streams) {
    at::Tensor x_nth = model_.embed(step_nt);
    for (int l = 0; l < model_.layers(); ++l) x_nth = model_.block(l, x_nth, {}, &cache);
    cache.length += step_nt.size(1);
    if (step_nt.size(1) > 1) step_nt = at::empty({1, 1}, at::kLong);
    const at::Tensor logits_nv = model_.logits(x_nth.select(1, -1));
    CUPEL_CHECK(at::isfinite(logits_nv.sum()).item<bool>(), data,
                "while generating, the logits at position ", cache.length - 1, " are not finite");
    return next_tokens(logits_nv, options.sampling.temperature, streams).item<int64_t>();
  }

  bool ends(text::Token id) const {
    const auto& ends = tokenizer_->end_tokens();
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }

  /// Renews the text, and cuts it before the first stop text in it.
  bool stopped(text::Generation& out, const std::vector<std::string>& stops) const {
    out.text = tokenizer_->decode(out.tokens);
    std::size_t first = std::string::npos;
    for (const std::string& s : stops)
      first = std::min(first, s.empty() ? first : out.text.find(s));
    if (first == std::string::npos) return false;
    out.text.resize(first);
    out.finish = text::FinishReason::stop;
    return true;
  }

  Model& model_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace

std::unique_ptr<text::Generator> make_generator(Model& model,
                                                std::shared_ptr<const text::Tokenizer> tokenizer) {
  return std::make_unique<ModelGenerator>(model, std::move(tokenizer));
}

}  // namespace cupel::core
