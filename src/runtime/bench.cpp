// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/bench.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/rng.h"
#include "base/threads.h"
#include "runtime/bandwidth.h"

namespace cupel::runtime {
namespace {

/// Random ids, the first of them BOS where the model has one.
std::vector<text::Token> random_tokens(const Model& model, int64_t count) {
  Rng rng(0, "bench");
  std::vector<text::Token> ids(static_cast<std::size_t>(count));
  for (auto& id : ids)
    id = static_cast<text::Token>(rng.below(static_cast<uint64_t>(model.config().vocab)));
  const auto& tokenizer = model.tokenizer();
  if (tokenizer && tokenizer->bos() >= 0 && !ids.empty()) ids[0] = tokenizer->bos();
  return ids;
}

/// Mean and standard deviation (of the sample) of tokens per second over the repeats of `run`.
void measure(BenchResult& result, int64_t tokens, int repeats, const std::function<void()>& run) {
  std::vector<double> rates;
  for (int i = 0; i < repeats; ++i) {
    const double start = now_seconds();
    run();
    rates.push_back(static_cast<double>(tokens) / (now_seconds() - start));
  }
  for (const double rate : rates) result.tokens_per_second += rate / repeats;
  double squares = 0;
  for (const double rate : rates)
    squares += (rate - result.tokens_per_second) * (rate - result.tokens_per_second);
  if (repeats > 1) result.stddev = std::sqrt(squares / (repeats - 1));
}

class Bench {
 public:
  Bench(std::shared_ptr<const Model> model, const BenchOptions& options,
        const SessionOptions& session)
      : options_(options),
        ids_(random_tokens(*model, options.depth + std::max(options.prompt, options.generate))),
        session_(std::move(model), session) {
    session_.forward(ids(0, options.depth), 0);
  }

  int64_t kv_position_bytes() const { return session_.kv_position_bytes(); }

  BenchResult prompt() {
    BenchResult result = named("pp", options_.prompt);
    const auto run = [&] {
      session_.rewind(options_.depth);
      session_.forward(ids(options_.depth, options_.prompt), 1);
    };
    run();
    measure(result, options_.prompt, options_.repeats, run);
    return result;
  }

  BenchResult generate() {
    BenchResult result = named("tg", options_.generate);
    double cache_bytes = 0;
    const auto run = [&](int64_t count) {
      session_.rewind(options_.depth);
      cache_bytes = 0;
      for (int64_t i = 0; i < count; ++i) {
        session_.forward(ids(options_.depth + i, 1), 1);
        cache_bytes += static_cast<double>(session_.kv_bytes_read());
      }
    };
    run(1);
    measure(result, options_.generate, options_.repeats, [&] { run(options_.generate); });
    const double bytes = static_cast<double>(session_.model().streamed_bytes()) +
                         cache_bytes / static_cast<double>(options_.generate);
    result.gb_per_second = bytes * result.tokens_per_second / 1e9;
    return result;
  }

 private:
  std::span<const text::Token> ids(int64_t begin, int64_t count) const {
    return std::span(ids_).subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(count));
  }
  BenchResult named(const char* kind, int64_t count) const {
    BenchResult result;
    result.test = cat(kind, count, options_.depth > 0 ? cat(" @ d", options_.depth) : "");
    result.depth = options_.depth;
    return result;
  }

  const BenchOptions& options_;
  std::vector<text::Token> ids_;
  Session session_;
};

}  // namespace

BenchReport bench(std::shared_ptr<const Model> model, const BenchOptions& options) {
  CUPEL_CHECK(
      options.prompt >= 0 && options.generate >= 0 && options.depth >= 0 && options.repeats >= 1,
      user, "bench: lengths and depth of at least 0 and 1 repeat or more are needed, not -p ",
      options.prompt, " -n ", options.generate, " -d ", options.depth, " -r ", options.repeats);
  SessionOptions session = options.session;
  if (session.context == 0)
    session.context =
        std::max<int64_t>(1, options.depth + std::max(options.prompt, options.generate));
  BenchReport report;
  report.threads = session.threads > 0 ? session.threads : usable_processors();
  {
    ThreadPool pool(report.threads);
    report.probe_gb_per_second = read_bandwidth(pool) / 1e9;
  }
  Bench bench(std::move(model), options, session);
  report.kv_position_bytes = bench.kv_position_bytes();
  if (options.prompt > 0) report.results.push_back(bench.prompt());
  if (options.generate > 0) report.results.push_back(bench.generate());
  return report;
}

}  // namespace cupel::runtime
