// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/session.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/threads.h"
#include "runtime/batch_scorer.h"
#include "runtime/draft.h"
#include "runtime/forward.h"

namespace cupel::runtime {
namespace {

constexpr int64_t kDefaultContext = 4096, kMostPositions = 1 << 24;
// Rows of logits that score() holds at a time; enough of them that the head's weights are unpacked
// for many rows.
constexpr int64_t kLogitBytes = 8 << 20, kLeastLogitRows = 8;

int threads_of(const SessionOptions& options) {
  const int usable = usable_processors();
  if (options.threads > usable)
    log::warn("runtime", cat(options.threads, " threads on ", usable,
                             " usable processors: more is not faster"));
  return options.threads == 0 ? usable : options.threads;
}

/// Positions that the model can have; dynamic rope exists to go beyond its configuration's.
int64_t most_positions(const format::ModelConfig& config) {
  return config.rope.type == "dynamic" ? kMostPositions : config.max_positions;
}

int64_t context_of(const SessionOptions& options, const format::ModelConfig& config) {
  const int64_t most = most_positions(config);
  if (options.context == 0) return std::min(most, kDefaultContext);
  CUPEL_CHECK(options.context >= 1 && options.context <= most, user, "context: a number in [1, ",
              most, "] is needed (the model's limit), not ", options.context);
  return options.context;
}

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Model> m, const SessionOptions& options)
      : model(std::move(m)),
        pool(threads_of(options)),
        cache(model->config(), options.kv, context_of(options, model->config())),
        forward(*model, pool),
        chunk(forward.widest_step(std::max<int64_t>(1, options.prompt_chunk))),
        kv(options.kv) {}

  void check_tokens(std::span<const text::Token> ids) const {
    const int64_t vocab = model->config().vocab,
                  room = cache.context() - static_cast<int64_t>(tokens.size());
    CUPEL_CHECK(static_cast<int64_t>(ids.size()) <= room, user, "the context of ", cache.context(),
                " positions is full: ", tokens.size(), " in use, ", ids.size(), " more asked for");
    for (const text::Token id : ids)
      CUPEL_CHECK(id >= 0 && id < vocab, data, "token ", id, " lies outside the vocabulary of ",
                  vocab, "; the tokenizer does not belong to this model");
  }

  /// Runs `ids` from position `first` on step by step; `after(begin, rows)` runs while rows
  /// begin .. begin + rows of `ids` are at hand.
  template <class After>
  void run(std::span<const text::Token> ids, int64_t first, int64_t length, After&& after) {
    const auto n = static_cast<int64_t>(ids.size());
    for (int64_t begin = 0; begin < n; begin += chunk) {
      const int64_t rows = std::min(chunk, n - begin);
      const Segment step{
          .ids = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rows)),
          .cache = &cache,
          .first = first + begin,
          .length = length};
      forward.layers({&step, 1});
      after(begin, rows);
    }
  }

  /// Of rows first .. first + count of the last step.
  void logits(int64_t first, int64_t count, float* out) {
    wanted.resize(static_cast<std::size_t>(count));
    std::iota(wanted.begin(), wanted.end(), first);
    forward.logits(wanted, out);
  }

  template <class After>
  void append(std::span<const text::Token> ids, After&& after) {
    check_tokens(ids);
    const auto first = static_cast<int64_t>(tokens.size()),
               length = first + static_cast<int64_t>(ids.size());
    renew_keys(length);
    run(ids, first, length, after);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    turned_for = length;
  }

  /// Computes the cache again where a sequence of `length` needs its keys turned otherwise.
  void renew_keys(int64_t length) {
    if (turned_for && keys_stay(model->config().rope, *turned_for, length)) return;
    turned_for.reset();
    run(tokens, 0, length, [](int64_t, int64_t) {});
  }

  /// A sequence whose angles grew must not show afterwards that it once was longer.
  void cut(std::size_t position) {
    if (position < tokens.size() && turned_for && angles_grow(model->config().rope, *turned_for))
      turned_for.reset();
    tokens.resize(position);
    if (position == 0) turned_for = 0;
  }

  std::shared_ptr<const Model> model;
  ThreadPool pool;
  KvCache cache;
  Forward forward;
  int64_t chunk;
  KvType kv;
  std::vector<text::Token> tokens;  // whose keys and values the cache holds
  // Length of the sequence when keys were last turned; none: they have to be computed again.
  std::optional<int64_t> turned_for = 0;
  Buffer<float> logit_rows;
  std::shared_ptr<Draft> draft;
  int64_t draft_tokens = 0;
  std::vector<int64_t> wanted;
};

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Session::~Session() = default;

std::span<const float> Session::forward(std::span<const text::Token> ids, int64_t keep) {
  const auto n = static_cast<int64_t>(ids.size());
  const int64_t vocab = impl_->model->config().vocab;
  CUPEL_CHECK(keep >= 0 && keep <= n, user, "logits of ", keep, " positions asked for, ", n,
              " tokens given");
  float* out = impl_->logit_rows.reserve(keep * vocab);
  impl_->append(ids, [&](int64_t begin, int64_t rows) {
    const int64_t from = std::max(begin, n - keep);
    if (from < begin + rows)
      impl_->logits(from - begin, begin + rows - from, out + (from - (n - keep)) * vocab);
  });
  return {out, static_cast<std::size_t>(keep * vocab)};
}

void Session::score(std::span<const text::Token> ids, int64_t from, const text::LogitSink& sink) {
  const auto n = static_cast<int64_t>(ids.size());
  CUPEL_CHECK(n <= max_length(), user, "a sequence of ", n, " tokens does not fit the context of ",
              max_length());
  CUPEL_CHECK(from >= 0 && from <= n, user, "logits from position ", from, " of ", n, " asked for");
  const int64_t kept = keep_prefix(ids, from);
  const int64_t width = vocab();
  const int64_t most = std::max(kLeastLogitRows, kLogitBytes / (4 * width));
  impl_->append(ids.subspan(static_cast<std::size_t>(kept)), [&](int64_t begin, int64_t rows) {
    for (int64_t row = std::max<int64_t>(0, from - kept - begin); row < rows; row += most) {
      const int64_t count = std::min(most, rows - row);
      float* out = impl_->logit_rows.reserve(count * width);
      impl_->logits(row, count, out);
      sink({.first = kept + begin + row, .rows = count, .vocab = width, .logits = out});
    }
  });
}

void Session::score_many(std::span<const Sequence> sequences,
                         const std::function<void(std::size_t, const text::LogitRows&)>& sink) {
  // Sequences whose angles depend on their lengths share nothing.
  if (format::rope_depends_on_length(model().config().rope))
    return text::Scorer::score_many(sequences, sink);
  BatchScorer(*impl_->model, impl_->forward, impl_->kv, max_length(), impl_->chunk)
      .run(sequences, sink);
}

void Session::set_draft(std::shared_ptr<Draft> draft, int64_t tokens) {
  CUPEL_CHECK(!draft || tokens >= 1, user, "draft: at least 1 token at a time is needed, not ",
              tokens);
  CUPEL_CHECK(!draft || !format::rope_depends_on_length(model().config().rope), user,
              "draft: the angles of '", model().path(),
              "' depend on the length of the sequence; tokens cannot be checked in one step");
  impl_->draft = std::move(draft);
  impl_->draft_tokens = tokens;
}

void Session::start_draft(const text::SamplingOptions& sampling) {
  if (impl_->draft) impl_->draft->start(sampling);
}

std::vector<text::Token> Session::guesses(std::span<const text::Token> history, int64_t most) {
  if (!impl_->draft || most <= 0) return {};
  return impl_->draft->propose(history, std::min(most, impl_->draft_tokens));
}

int64_t Session::position() const {
  return static_cast<int64_t>(impl_->tokens.size());
}

void Session::rewind(int64_t position) {
  CUPEL_CHECK(position >= 0 && position <= this->position(), user, "rewind to position ", position,
              ": only ", this->position(), " positions are in use");
  impl_->cut(static_cast<std::size_t>(position));
}

int64_t Session::keep_prefix(std::span<const text::Token> ids, int64_t limit) {
  const auto most =
      static_cast<std::size_t>(std::min({limit, static_cast<int64_t>(ids.size()), position()}));
  std::size_t same = 0;
  // What a cache holds after other lengths is not what these tokens alone would give.
  const bool keep = !angles_grow(model().config().rope, static_cast<int64_t>(ids.size()));
  while (keep && same < most && impl_->tokens[same] == ids[same]) ++same;
  rewind(static_cast<int64_t>(same));
  return static_cast<int64_t>(same);
}

int64_t Session::vocab() const {
  return impl_->model->config().vocab;
}
int64_t Session::max_length() const {
  return impl_->cache.context();
}
const Model& Session::model() const {
  return *impl_->model;
}
int64_t Session::kv_position_bytes() const {
  return impl_->cache.position_bytes();
}
int64_t Session::kv_bytes() const {
  return impl_->cache.bytes_held(position());
}
int64_t Session::kv_bytes_read() const {
  return impl_->cache.bytes_read(position());
}

std::string Session::description() const {
  const auto& options = impl_->model->options();
  std::filesystem::path path(impl_->model->path());
  if (!path.has_filename()) path = path.parent_path();
  return cat(path.filename().string(), " (runtime, ", kernels::isa_name(options.isa), ", ",
             options.activations == Activations::exact ? "exact" : "int8", " activations, ",
             kernels::kv_type_name(impl_->kv), " cache)");
}

}  // namespace cupel::runtime
