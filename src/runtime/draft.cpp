// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/draft.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::runtime {
namespace {

/// Tokens before `end` that agree with those before the end of all, at most `most`.
std::size_t agreement(std::span<const text::Token> all, std::size_t end, std::size_t most) {
  std::size_t same = 0;
  while (same < most && same < end && all[end - 1 - same] == all[all.size() - 1 - same]) ++same;
  return same;
}

/// Tokens that the model can say.
int64_t choices_of(const Model& model) {
  const int64_t rows = model.config().vocab;
  return model.tokenizer() ? std::min(rows, model.tokenizer()->size()) : rows;
}

void check_vocabularies(const Model& draft, const Model& target) {
  const auto &a = draft.tokenizer(), &b = target.tokenizer();
  CUPEL_CHECK(!a == !b, user, "draft: '", (a ? target : draft).path(), "' has no tokenizer");
  CUPEL_CHECK(choices_of(draft) == choices_of(target), user, "draft: '", draft.path(),
              "' has a vocabulary of ", choices_of(draft), ", '", target.path(), "' one of ",
              choices_of(target));
  for (text::Token t = 0; a && t < choices_of(draft); ++t) {
    const std::string own = a->decode({&t, 1}, false), other = b->decode({&t, 1}, false);
    CUPEL_CHECK(own == other, user, "draft: token ", t, " of '", draft.path(), "' is \"", own,
                "\", of '", target.path(), "' \"", other, "\"");
  }
}

}  // namespace

std::vector<text::Token> LookupDraft::propose(std::span<const text::Token> history, int64_t most) {
  std::size_t longest = kLeast - 1, found = 0;
  for (std::size_t end = history.size() - 1; end > 0 && longest < kMost; --end) {
    const std::size_t same = agreement(history, end, kMost);
    if (same <= longest) continue;
    longest = same;
    found = end;
  }
  if (found == 0) return {};
  const auto after = history.subspan(found);
  const auto count = std::min(after.size(), static_cast<std::size_t>(most));
  return {after.begin(), after.begin() + static_cast<std::ptrdiff_t>(count)};
}

ModelDraft::ModelDraft(std::shared_ptr<const Model> model, const SessionOptions& options,
                       const Model& target)
    : session_(std::move(model), options), sampler_({}), choices_(choices_of(session_.model())) {
  check_vocabularies(session_.model(), target);
}

void ModelDraft::start(const text::SamplingOptions& sampling) {
  sampler_ = Sampler(sampling);
}

std::vector<text::Token> ModelDraft::propose(std::span<const text::Token> history, int64_t most) {
  std::vector<text::Token> all(history.begin(), history.end());
  const auto length = static_cast<int64_t>(history.size());
  most = std::min(most, session_.max_length() - length);
  std::vector<text::Token> out;
  while (static_cast<int64_t>(out.size()) < most) {
    const int64_t kept = session_.keep_prefix(all, static_cast<int64_t>(all.size()) - 1);
    const auto logits = session_.forward(std::span(all).subspan(static_cast<std::size_t>(kept)), 1);
    out.push_back(sampler_.pick(logits.first(static_cast<std::size_t>(choices_)), all));
    all.push_back(out.back());
  }
  return out;
}

}  // namespace cupel::runtime
