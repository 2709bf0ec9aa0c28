// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/scorer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

// Rows of logits that exist at once: 256 x 49152 float32 are 50 MB.
constexpr int64_t kLogitRows = 256;

/// The first row of x [t, ..] with a number that is not finite, or -1.
int64_t first_bad_row(const at::Tensor& x) {
  if (at::isfinite(x.sum()).item<bool>()) return -1;
  const at::Tensor bad = at::isfinite(x).all(-1).logical_not().nonzero();
  return bad.numel() ? bad[0].item<int64_t>() : -1;
}

class ModelScorer : public text::Scorer {
 public:
  ModelScorer(Model& model, std::string name) : model_(model), name_(std::move(name)) {}

  int64_t vocab() const override { return model_.config().vocab; }
  int64_t max_length() const override { return model_.config().max_positions; }
  std::string description() const override {
    return cat(name_, " (LibTorch, ", scalar_type_name(model_.options().compute), ")");
  }

  void score(std::span<const text::Token> ids, int64_t from, const text::LogitSink& sink) override {
    const c10::NoGradGuard no_grad;
    const at::Tensor ids_nt = checked(ids);
    at::Tensor x_nth = model_.embed(ids_nt);
    for (int i = 0; i < model_.layers(); ++i) x_nth = model_.block(i, x_nth);
    for (int64_t first = from; first < ids_nt.size(1); first += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, ids_nt.size(1) - first);
      const at::Tensor logits_tv =
          host_float(model_.logits(x_nth[0].slice(0, first, first + rows)));
      const int64_t bad = first_bad_row(logits_tv);
      if (bad >= 0) explain(ids_nt, first + bad);
      sink({first, rows, vocab(), logits_tv.const_data_ptr<float>()});
    }
  }

 private:
  /// The ids as [1, t], each in the vocabulary.
  at::Tensor checked(std::span<const text::Token> ids) const {
    const auto length = static_cast<int64_t>(ids.size());
    CUPEL_CHECK(length > 0 && length <= max_length(), user, "a sequence of ", length,
                " tokens does not fit ", name_, ", which takes 1 to ", max_length());
    at::Tensor ids_nt = at::empty({1, length}, at::kLong);
    for (int64_t t = 0; t < length; ++t) {
      const text::Token id = ids[static_cast<std::size_t>(t)];
      CUPEL_CHECK(id >= 0 && id < vocab(), user, "token ", id, " at position ", t,
                  " is not in the vocabulary of ", name_, " (", vocab(), " tokens)");
      ids_nt.data_ptr<int64_t>()[t] = id;
    }
    return ids_nt;
  }

  /// Runs the sequence again to say where the first number that is not finite arises. (Attention
  /// carries NaN to earlier positions too: 0 * NaN.)
  [[noreturn]] void explain(const at::Tensor& ids_nt, int64_t position) {
    const auto stop = [&](int64_t at, const std::string& place) {
      fail(Fault::data, "the logits of ", name_, " are not finite; it starts at position ", at,
           " in ", place, "; likely cause: a damaged weight, or ",
           scalar_type_name(model_.options().compute), " overflows");
    };
    at::Tensor x_nth = model_.embed(ids_nt);
    int64_t bad = first_bad_row(x_nth[0]);
    if (bad >= 0) stop(bad, cat("the embedding of token ", ids_nt[0][bad].item<int64_t>()));
    for (int i = 0; i < model_.layers(); ++i) {
      x_nth = model_.block(i, x_nth);
      bad = first_bad_row(x_nth[0]);
      if (bad >= 0) stop(bad, cat("layer ", i));
    }
    fail(Fault::data, "the logits of ", name_, " at position ", position,
         " are not finite; it starts in the head");
  }

  Model& model_;
  std::string name_;
};

}  // namespace

std::unique_ptr<text::Scorer> make_scorer(Model& model, std::string name) {
  return std::make_unique<ModelScorer>(model, std::move(name));
}

}  // namespace cupel::core
