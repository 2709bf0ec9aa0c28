// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/scorer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

// Rows of logits that exist at once: 256 x 49152 float32 are 50 MB.
constexpr int64_t kLogitRows = 256;
// Tokens of a batch: more fills a GPU; on a CPU the activations should stay in its caches.
constexpr int64_t kGpuBatchTokens = 32768, kCpuBatchTokens = 1024;

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
    const at::Tensor x_nth = hidden(ids_nt);
    for (int64_t first = from; first < ids_nt.size(1); first += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, ids_nt.size(1) - first);
      const at::Tensor logits_tv =
          host_float(model_.logits(x_nth[0].slice(0, first, first + rows)));
      const int64_t bad = first_bad_row(logits_tv);
      if (bad >= 0) explain(ids_nt, first + bad);
      sink({first, rows, vocab(), logits_tv.const_data_ptr<float>()});
    }
  }

  void score_many(std::span<const Sequence> sequences,
                  const std::function<void(std::size_t, const text::LogitRows&)>& sink) override {
    const c10::NoGradGuard no_grad;
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sequences[a].ids.size() > sequences[b].ids.size();
    });
    for (std::size_t begin = 0; begin < order.size();) {
      const std::size_t end = batch_end(sequences, order, begin);
      score_batch(sequences, std::span(order).subspan(begin, end - begin), sink);
      begin = end;
    }
  }

 private:
  at::Tensor hidden(const at::Tensor& ids_nt) {
    at::Tensor x_nth = model_.embed(ids_nt);
    for (int i = 0; i < model_.layers(); ++i) x_nth = model_.block(i, x_nth);
    return x_nth;
  }

  /// The batch that starts with the longest sequence left.
  std::size_t batch_end(std::span<const Sequence> sequences, std::span<const std::size_t> order,
                        std::size_t begin) const {
    const bool gpu = model_.options().device.is_cuda();
    const auto longest = static_cast<int64_t>(sequences[order[begin]].ids.size());
    const int64_t most = std::max<int64_t>(1, (gpu ? kGpuBatchTokens : kCpuBatchTokens) / longest);
    // Rope that depends on the length is another one for a padded sequence.
    const bool equal = rope_depends_on_length(model_.config().rope);
    std::size_t end = begin + 1;
    while (end < order.size() && static_cast<int64_t>(end - begin) < most &&
           (!equal || static_cast<int64_t>(sequences[order[end]].ids.size()) == longest))
      ++end;
    return end;
  }

  void score_batch(std::span<const Sequence> sequences, std::span<const std::size_t> batch,
                   const std::function<void(std::size_t, const text::LogitRows&)>& sink) {
    const auto longest = static_cast<int64_t>(sequences[batch[0]].ids.size());
    at::Tensor ids_nt = at::zeros({static_cast<int64_t>(batch.size()), longest}, at::kLong);
    std::vector<int64_t> wanted;      // rows of the flattened batch that predict something
    std::vector<std::size_t> owners;  // the sequence of each
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Sequence& s = sequences[batch[b]];
      const auto length = static_cast<int64_t>(s.ids.size()), row = static_cast<int64_t>(b);
      ids_nt[row].slice(0, 0, length).copy_(checked(s.ids)[0]);
      for (int64_t t = s.from; t < length; ++t) {
        wanted.push_back(row * longest + t);
        owners.push_back(batch[b]);
      }
    }
    const at::Tensor x_rh = hidden(ids_nt).flatten(0, 1);
    const at::Tensor rows =
        at::from_blob(wanted.data(), {static_cast<int64_t>(wanted.size())}, at::kLong)
            .to(x_rh.device());
    const at::Tensor x_wh = x_rh.index_select(0, rows);
    for (int64_t first = 0; first < x_wh.size(0); first += kLogitRows) {
      const int64_t count = std::min(kLogitRows, x_wh.size(0) - first);
      const at::Tensor logits_wv = host_float(model_.logits(x_wh.slice(0, first, first + count)));
      hand_over(sequences, logits_wv, std::span(owners).subspan(static_cast<std::size_t>(first)),
                std::span(wanted).subspan(static_cast<std::size_t>(first)), longest, sink);
    }
  }

  /// Rows [w, v] to their sequences, one piece for each run of rows of one sequence.
  void hand_over(std::span<const Sequence> sequences, const at::Tensor& logits_wv,
                 std::span<const std::size_t> owners, std::span<const int64_t> wanted,
                 int64_t longest,
                 const std::function<void(std::size_t, const text::LogitRows&)>& sink) {
    const int64_t bad = first_bad_row(logits_wv);
    if (bad >= 0) {
      const auto at = static_cast<std::size_t>(bad);
      explain(checked(sequences[owners[at]].ids), wanted[at] % longest);
    }
    const auto count = static_cast<std::size_t>(logits_wv.size(0));
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + 1;
      while (end < count && owners[end] == owners[begin]) ++end;
      sink(owners[begin],
           {wanted[begin] % longest, static_cast<int64_t>(end - begin), vocab(),
            logits_wv.const_data_ptr<float>() + static_cast<int64_t>(begin) * vocab()});
      begin = end;
    }
  }

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
