// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/cache.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace cupel::eval {

namespace {

using Json = nlohmann::ordered_json;

std::string_view bytes_of(std::span<const text::Token> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

std::string key(const Request& r) {
  return key_of({"likelihood", bytes_of(r.context), bytes_of(r.continuation)});
}

std::string key(std::span<const text::Token> prompt, const text::GenerateOptions& o) {
  const text::SamplingOptions& s = o.sampling;
  std::string rule = cat(o.max_tokens, " ", s.temperature, " ", s.top_k, " ", s.top_p, " ", s.min_p,
                         " ", s.repeat_penalty, " ", s.seed, " ", o.ignore_end);
  for (const std::string& stop : o.stop) rule += cat("\n", stop.size(), ":", stop);
  return key_of({"generation", bytes_of(prompt), rule});
}

}  // namespace

struct AnswerCache::Impl {
  std::map<std::string, Likelihood> likelihoods;
  std::map<std::string, text::Generation> generations;
  std::string path;
  std::ofstream out;

  void read() {
    const std::string text = std::filesystem::exists(path) ? read_text(path) : "";
    std::size_t whole = 0;  // bytes of complete records
    for (std::size_t end; (end = text.find('\n', whole)) != text.npos; whole = end + 1) {
      const Json j = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(whole),
                                 text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      CUPEL_CHECK(j.is_object() && j.contains("key"), data, "'", path,
                  "' is damaged: delete it, its answers are computed again");
      add(j);
    }
    // What a killed run left unfinished must not run into the next record.
    if (whole < text.size()) std::filesystem::resize_file(path, whole);
    out.open(path, std::ios::app);
    CUPEL_CHECK(out.good(), environment, "'", path, "' can't be written");
  }

  void add(const Json& j) {
    const std::string k = j.at("key");
    if (j.contains("log_prob")) {
      likelihoods[k] = {j.at("log_prob"), j.at("greedy")};
      return;
    }
    text::Generation& g = generations[k];
    g.text = j.at("text");
    g.tokens = j.at("tokens").get<Tokens>();
    g.finish = j.at("stopped") ? text::FinishReason::stop : text::FinishReason::length;
  }

  void write(const Json& j) {
    out << j.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    out.flush();
    CUPEL_CHECK(out.good(), environment, "'", path, "' can't be written (is the disk full?)");
  }
};

AnswerCache::AnswerCache(const std::string& folder, const std::string& model)
    : impl_(std::make_unique<Impl>()) {
  make_folder(folder);
  impl_->path = (std::filesystem::path(folder) / (key_of({model}) + ".jsonl")).string();
  impl_->read();
}
AnswerCache::~AnswerCache() = default;

const Likelihood* AnswerCache::find(const Request& request) const {
  const auto at = impl_->likelihoods.find(key(request));
  return at == impl_->likelihoods.end() ? nullptr : &at->second;
}

void AnswerCache::keep(const Request& request, const Likelihood& answer) {
  impl_->write({{"key", key(request)}, {"log_prob", answer.log_prob}, {"greedy", answer.greedy}});
}

const text::Generation* AnswerCache::find(std::span<const text::Token> prompt,
                                          const text::GenerateOptions& options) const {
  const auto at = impl_->generations.find(key(prompt, options));
  return at == impl_->generations.end() ? nullptr : &at->second;
}

void AnswerCache::keep(std::span<const text::Token> prompt, const text::GenerateOptions& options,
                       const text::Generation& answer) {
  impl_->write({{"key", key(prompt, options)},
                {"text", answer.text},
                {"tokens", answer.tokens},
                {"stopped", answer.finish == text::FinishReason::stop}});
}

namespace {

class CachedLikelihood final : public LikelihoodModel {
 public:
  CachedLikelihood(LikelihoodModel& model, AnswerCache& cache) : model_(model), cache_(cache) {}
  int64_t max_length() const override { return model_.max_length(); }
  std::string description() const override { return model_.description(); }

  void score(std::span<const Request> requests, const LikelihoodSink& sink) override {
    std::vector<Request> rest;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (const Likelihood* known = cache_.find(requests[i])) {
        sink(i, *known);
      } else {
        rest.push_back(requests[i]);
        places.push_back(i);
      }
    }
    model_.score(rest, [&](std::size_t i, const Likelihood& l) {
      cache_.keep(rest[i], l);
      sink(places[i], l);
    });
  }

 private:
  LikelihoodModel& model_;
  AnswerCache& cache_;
};

class CachedGenerator final : public text::Generator {
 public:
  CachedGenerator(text::Generator& generator, AnswerCache& cache)
      : generator_(generator), cache_(cache) {}

  text::Generation generate(std::span<const text::Token> prompt,
                            const text::GenerateOptions& options,
                            const std::function<bool(std::string_view)>& on_text) override {
    if (const text::Generation* known = cache_.find(prompt, options)) {
      on_text(known->text);
      return *known;
    }
    text::Generation out = generator_.generate(prompt, options, on_text);
    if (out.finish != text::FinishReason::cancelled) cache_.keep(prompt, options, out);
    return out;
  }

  void generate_many(std::span<const Order> orders,
                     const std::function<void(std::size_t, text::Generation)>& sink) override {
    std::vector<Order> rest;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (const text::Generation* known = cache_.find(orders[i].prompt, *orders[i].options)) {
        sink(i, *known);
      } else {
        rest.push_back(orders[i]);
        places.push_back(i);
      }
    }
    generator_.generate_many(rest, [&](std::size_t i, text::Generation answer) {
      cache_.keep(rest[i].prompt, *rest[i].options, answer);
      sink(places[i], std::move(answer));
    });
  }

 private:
  text::Generator& generator_;
  AnswerCache& cache_;
};

}  // namespace

std::unique_ptr<LikelihoodModel> cached(LikelihoodModel& model, AnswerCache& cache) {
  return std::make_unique<CachedLikelihood>(model, cache);
}

std::unique_ptr<text::Generator> cached(text::Generator& generator, AnswerCache& cache) {
  return std::make_unique<CachedGenerator>(generator, cache);
}

}  // namespace cupel::eval
