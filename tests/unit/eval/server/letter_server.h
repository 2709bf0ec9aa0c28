// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fake_server.h"
#include "fakes.h"

namespace cupel::test {

/// How a LetterServer differs from vLLM.
struct Oddities {
  bool takes_ids = true;    ///< else one prompt as text, no lists
  bool adds_bos = false;    ///< before every text
  bool hides_bos = false;   ///< a BOS in front is not listed
  bool late = false;        ///< a place's log-probabilities stand at the token before it
  bool counts = true;       ///< usage
  int64_t positions = 512;  ///< 0: not said
  std::string model = "letters";
  /// Changes an answer before it is sent.
  std::function<void(nlohmann::json& answer, const nlohmann::json& request)> change;
  /// Replaces an answer; Reply{} leaves it.
  std::function<Reply(const nlohmann::json& request, int before)> instead;
};

/// Serves a model over LetterTokenizer's tokens: what it expects after each token is a function of
/// the tokens up to there.
class LetterServer {
 public:
  explicit LetterServer(const FakeScorer::Logits& logits, Oddities odd = {});

  std::string url() const { return server_.url() + "/v1"; }
  /// Bodies of POST requests, in order of arrival.
  std::vector<nlohmann::json> requests() const { return requests_; }
  std::string last_head() const { return last_head_; }
  const FakeServer& http() const { return server_; }

 private:
  Reply answer(const std::string& head, const std::string& body, int before);
  Tokens prompt_of(const nlohmann::json& prompt) const;
  nlohmann::json choice(const Tokens& ids, const nlohmann::json& request, int64_t& written) const;
  nlohmann::json logprobs(const Tokens& ids, std::size_t prompt) const;

  FakeScorer::Logits logits_;
  Oddities odd_;
  LetterTokenizer tokenizer_;
  std::vector<nlohmann::json> requests_;
  std::string last_head_;
  FakeServer server_;  // last: its threads use the rest
};

}  // namespace cupel::test
