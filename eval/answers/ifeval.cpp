// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/ifeval.h"

#include <algorithm>

#include "base/error.h"
#include "eval/answers/ifeval_checks.h"
#include "eval/answers/python_text.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

// The reply; it without its first line, its last, both; each also without asterisks.
std::vector<std::string> loose_variants(const std::string& reply) {
  const auto lines = split_at(reply, "\n");
  const auto without = [&](std::size_t first, std::size_t last) {
    std::string out;
    for (std::size_t i = first; i + last < lines.size(); ++i) {
      if (i > first) out += '\n';
      out += lines[i];
    }
    return std::string(strip(out));
  };
  std::vector<std::string> out = {reply, without(1, 0), without(0, 1), without(1, 1)};
  for (std::size_t i = 0; i < 4; ++i) out.push_back(replace_all(out[i], "*", ""));
  return out;
}

bool follows(const IfevalCheck& check, const std::string& reply) {
  return !strip(reply).empty() && check(reply);
}

bool all(const std::vector<bool>& v) {
  return std::find(v.begin(), v.end(), false) == v.end();
}

std::size_t true_of(const std::vector<bool>& v) {
  return static_cast<std::size_t>(std::count(v.begin(), v.end(), true));
}

}  // namespace

bool IfevalResult::all_strict() const {
  return all(strict);
}

bool IfevalResult::all_loose() const {
  return all(loose);
}

AnswerScore IfevalResult::score() const {
  const auto share = [](const std::vector<bool>& v) {
    return static_cast<double>(true_of(v)) / static_cast<double>(v.size());
  };
  AnswerScore out;
  out.metrics = {{"prompt_level_strict_acc", all_strict()},
                 {"inst_level_strict_acc", share(strict)},
                 {"prompt_level_loose_acc", all_loose()},
                 {"inst_level_loose_acc", share(loose)}};
  for (const auto& note : notes)
    if (!note.empty() && out.note.find(note) == std::string::npos)
      out.note += (out.note.empty() ? "" : "; ") + note;
  return out;
}

struct IfevalScorer::Impl {
  SentenceSplitter sentences;
  std::unique_ptr<LanguageDetector> languages;
  IfevalModels models;

  explicit Impl(const IfevalOptions& o)
      : sentences(o.sentence_model.empty() ? small_english_model()
                                           : read_punkt_model(o.sentence_model)),
        languages(o.language_profiles.empty() ? script_language_detector()
                                              : profile_language_detector(o.language_profiles)),
        models{sentences, *languages, !o.sentence_model.empty(), !o.language_profiles.empty()} {}

  IfevalCheck check(const IfevalInstruction& instruction, std::string& note) const {
    for (const auto* makers : {&ifeval_word_checks(), &ifeval_format_checks()}) {
      const auto found = makers->find(instruction.id);
      if (found == makers->end()) continue;
      IfevalArguments arguments(instruction);
      const auto out = in_frame(cat("reading instruction '", instruction.id, "'"),
                                [&] { return found->second(arguments, models); });
      arguments.done();
      note = arguments.note;
      return out;
    }
    fail(Fault::data, "unknown IFEval instruction '", instruction.id, "'");
  }
};

IfevalScorer::IfevalScorer(const IfevalOptions& options) : impl_(std::make_unique<Impl>(options)) {}
IfevalScorer::IfevalScorer(IfevalScorer&&) noexcept = default;
IfevalScorer::~IfevalScorer() = default;

IfevalResult IfevalScorer::score(const IfevalDocument& document, const std::string& reply) const {
  CUPEL_CHECK(!document.instructions.empty(), data, "an IFEval document has no instructions");
  const std::string valid = text::utf8_lossy(reply);
  const auto variants = loose_variants(valid);
  IfevalResult out;
  for (const auto& instruction : document.instructions) {
    std::string note;
    const auto check = impl_->check(instruction, note);
    out.strict.push_back(follows(check, valid));
    out.loose.push_back(std::any_of(variants.begin(), variants.end(),
                                    [&](const std::string& v) { return follows(check, v); }));
    out.notes.push_back(std::move(note));
  }
  return out;
}

IfevalSummary summarize_ifeval(std::span<const IfevalResult> results) {
  CUPEL_CHECK(!results.empty(), data, "no IFEval results to summarise");
  IfevalSummary s;
  std::size_t strict = 0, loose = 0, all_strict = 0, all_loose = 0;
  for (const auto& r : results) {
    all_strict += r.all_strict();
    all_loose += r.all_loose();
    strict += true_of(r.strict);
    loose += true_of(r.loose);
    s.instructions += r.strict.size();
  }
  s.documents = results.size();
  const auto share = [](std::size_t part, std::size_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  s.prompt_level_strict_acc = share(all_strict, s.documents);
  s.prompt_level_loose_acc = share(all_loose, s.documents);
  s.inst_level_strict_acc = share(strict, s.instructions);
  s.inst_level_loose_acc = share(loose, s.instructions);
  return s;
}

}  // namespace cupel::eval
