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

class Run {
 public:
  Run(const ChosenTask& chosen, const TaskModel& model, const TaskOptions& options)
      : task_(chosen.task),
        model_(model),
        options_(options),
        judge_(make_judge(chosen.task, options)),
        generate_(generate_options(chosen.task)),
        room_(model.max_length - task_.generation_kwargs.max_gen_toks) {
    CUPEL_CHECK(model.generator, user, "task '", task_.task, "' needs a model that writes text");
    CUPEL_CHECK(room_ > 0, user, "task '", task_.task, "' generates up to ",
                task_.generation_kwargs.max_gen_toks, " tokens; the model has ", model.max_length,
                " positions");
  }

  Sample answer(const Row& row, const Question& question) const {
    Sample s;
    s.prompt = question.contexts[0];
    const Tokens prompt = fitting_prompt(*model_.tokenizer, s.prompt, room_);
    std::vector<std::string> replies;
    for (int64_t i = 0; i < task_.repeats; ++i) {
      text::GenerateOptions options = generate_;
      options.sampling.seed = static_cast<uint64_t>(i);
      replies.push_back(
          model_.generator->generate(prompt, options, [](std::string_view) { return true; }).text);
    }
    Judgement j = judge_->judge(row, question, replies);
    s.target = question.target;
    s.reply = replies[0];
    s.scores = std::move(j.scores);
    s.answers = std::move(j.answers);
    s.parts = j.parts;
    s.note = std::move(j.note);
    return s;
  }

  std::vector<Rule> rules() const { return judge_->rules(); }

 private:
  const Task& task_;
  const TaskModel& model_;
  const TaskOptions& options_;
  std::unique_ptr<Judge> judge_;
  text::GenerateOptions generate_;
  int64_t room_;
};

}  // namespace

TaskResult generations(const ChosenTask& chosen, const std::vector<RowGroup>& groups,
                       const TaskModel& model, const TaskOptions& options,
                       const TaskProgress& progress) {
  const Run run(chosen, model, options);
  int64_t all = 0, done = 0;
  for (const RowGroup& g : groups) all += g.used;
  TaskResult result;
  for (const RowGroup& g : groups) {
    const bool own = g.pool.empty();
    PromptBuilder prompts(chosen.task, own ? g.rows : g.pool, own, options.prompt);
    for (int64_t i = 0; i < g.used; ++i) {
      const Row& row = g.rows[static_cast<std::size_t>(i)];
      Sample s = in_frame(cat("asking row ", i, " of '", chosen.task.task, "'"),
                          [&] { return run.answer(row, prompts.ask(row)); });
      s.doc_id = i;
      s.group = g.name;
      result.samples.push_back(std::move(s));
      if (progress) progress(++done, all);
    }
  }
  summarize(result, run.rules());
  return result;
}

}  // namespace cupel::eval
