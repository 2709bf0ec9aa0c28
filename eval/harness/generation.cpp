// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/generation.h"

#include <algorithm>

#include "base/error.h"
#include "eval/harness/judge.h"

namespace cupel::eval {

namespace {

Tokens fitting_prompt(const text::Tokenizer& tokenizer, const std::string& text, int64_t room) {
  Tokens ids = encode_prompt(tokenizer, text);
  if (ids.empty()) ids = {prefix_token(tokenizer)};
  const auto n = static_cast<int64_t>(ids.size());
  if (n > room) ids.erase(ids.begin(), ids.begin() + (n - room));
  return ids;
}

text::GenerateOptions generate_options(const Task& task) {
  text::GenerateOptions out;
  out.max_tokens = task.generation_kwargs.max_gen_toks;
  out.stop = task.generation_kwargs.until;
  // The whole distribution: what a task measures is the model, not a sampler's defaults.
  out.sampling = {
      .temperature = task.generation_kwargs.temperature, .top_k = 0, .top_p = 1, .min_p = 0};
  return out;
}

/// One row while its replies come in.
struct Asked {
  std::string group;
  int64_t doc_id = 0;
  const Row* row = nullptr;
  Question question;
  Tokens prompt;
  std::vector<std::string> replies;
  std::size_t missing = 0;
};

class Run {
 public:
  Run(const ChosenTask& chosen, const TaskModel& model, const TaskOptions& options)
      : task_(chosen.task),
        model_(model),
        options_(options),
        judge_(make_judge(chosen.task, options)),
        room_(model.max_length - task_.generation_kwargs.max_gen_toks) {
    CUPEL_CHECK(model.generator, user, "task '", task_.task, "' needs a model that writes text");
    CUPEL_CHECK(room_ > 0, user, "task '", task_.task, "' generates up to ",
                task_.generation_kwargs.max_gen_toks, " tokens; the model has ", model.max_length,
                " positions");
    // Repeats differ in their seeds alone.
    generate_.resize(static_cast<std::size_t>(task_.repeats), generate_options(chosen.task));
    for (std::size_t i = 0; i < generate_.size(); ++i) generate_[i].sampling.seed = i;
  }

  std::vector<Asked> ask(const std::vector<RowGroup>& groups) const {
    std::vector<Asked> out;
    for (const RowGroup& g : groups) {
      const bool own = g.pool.empty();
      PromptBuilder prompts(task_, own ? g.rows : g.pool, own, options_.prompt);
      for (int64_t i = 0; i < g.used; ++i) {
        const Row& row = g.rows[static_cast<std::size_t>(i)];
        in_frame(where(i), [&] {
          Asked a{g.name, i, &row, prompts.ask(row), {}, {}, generate_.size()};
          a.prompt = fitting_prompt(*model_.tokenizer, a.question.contexts[0], room_);
          a.replies.resize(generate_.size());
          out.push_back(std::move(a));
        });
      }
    }
    return out;
  }

  std::vector<Sample> answer(std::vector<Asked>& asked, const TaskProgress& progress) const {
    std::vector<text::Generator::Order> orders;
    for (const Asked& a : asked)
      for (const text::GenerateOptions& options : generate_) orders.push_back({a.prompt, &options});
    std::vector<Sample> out(asked.size());
    int64_t done = 0;
    model_.generator->generate_many(orders, [&](std::size_t i, text::Generation reply) {
      const std::size_t row = i / generate_.size();
      Asked& a = asked[row];
      a.replies[i % generate_.size()] = std::move(reply.text);
      if (--a.missing > 0) return;
      out[row] = in_frame(where(a.doc_id), [&] { return judged(a); });
      if (progress) progress(++done, static_cast<int64_t>(asked.size()));
    });
    return out;
  }

  std::vector<Rule> rules() const { return judge_->rules(); }

 private:
  std::string where(int64_t row) const { return cat("asking row ", row, " of '", task_.task, "'"); }

  Sample judged(const Asked& a) const {
    Judgement j = judge_->judge(*a.row, a.question, a.replies);
    Sample s;
    s.doc_id = a.doc_id;
    s.group = a.group;
    s.prompt = a.question.contexts[0];
    s.target = a.question.target;
    s.reply = a.replies[0];
    s.scores = std::move(j.scores);
    s.answers = std::move(j.answers);
    s.parts = j.parts;
    s.note = std::move(j.note);
    return s;
  }

  const Task& task_;
  const TaskModel& model_;
  const TaskOptions& options_;
  std::unique_ptr<Judge> judge_;
  std::vector<text::GenerateOptions> generate_;  // one a repeat
  int64_t room_;
};

}  // namespace

TaskResult generations(const ChosenTask& chosen, const std::vector<RowGroup>& groups,
                       const TaskModel& model, const TaskOptions& options,
                       const TaskProgress& progress) {
  const Run run(chosen, model, options);
  std::vector<Asked> asked = run.ask(groups);
  TaskResult result;
  result.samples = run.answer(asked, progress);
  summarize(result, run.rules());
  return result;
}

}  // namespace cupel::eval
