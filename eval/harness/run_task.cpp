// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/run_task.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "eval/harness/generation.h"
#include "eval/harness/rows.h"
#include "eval/harness/summarize.h"

namespace cupel::eval {

namespace {

std::vector<const ChoiceMetric*> metrics_of(const Task& task) {
  std::vector<const ChoiceMetric*> out;
  for (const std::string& name : task.metric_list) {
    out.push_back(find_choice_metric(name));
    CUPEL_CHECK(out.back(), user, "task '", task.task, "': unknown metric '", name,
                "' (known: ", choice_metric_names(), ")");
  }
  return out;
}

/// One row while its answers come in.
struct Asked {
  std::string group;
  int64_t doc_id = 0;
  Question question;
  std::vector<Request> requests;
  std::vector<Likelihood> answers;
  std::size_t conditional = 0;  // the requests before it depend on the question
};

std::vector<Request> requests_of(const text::Tokenizer& tokenizer, const Question& q) {
  std::vector<Request> out;
  const std::size_t n = std::max(q.contexts.size(), q.continuations.size());
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(encode_request(tokenizer, q.contexts[q.contexts.size() == 1 ? 0 : i],
                                 q.continuations[q.continuations.size() == 1 ? 0 : i]));
  return out;
}

std::vector<Asked> ask_all(const Task& task, const std::vector<RowGroup>& groups,
                           const TaskModel& model, const TaskOptions& options, bool unconditional) {
  std::vector<Asked> out;
  for (const RowGroup& g : groups) {
    const bool own = g.pool.empty();
    PromptBuilder prompts(task, own ? g.rows : g.pool, own, options.prompt);
    for (int64_t i = 0; i < g.used; ++i)
      in_frame(
          cat("asking row ", i, g.name.empty() ? "" : " of " + g.name, " of '", task.task, "'"),
          [&] {
            Asked a{g.name, i, prompts.ask(g.rows[static_cast<std::size_t>(i)]), {}, {}, 0};
            a.requests = requests_of(*model.tokenizer, a.question);
            a.conditional = a.requests.size();
            if (unconditional)
              for (const std::string& c : a.question.continuations)
                a.requests.push_back(encode_request(*model.tokenizer, "", c));
            a.answers.resize(a.requests.size());
            out.push_back(std::move(a));
          });
  }
  return out;
}

void answer_all(std::vector<Asked>& asked, LikelihoodModel& model, const TaskProgress& progress) {
  std::vector<Request> flat;
  std::vector<Likelihood*> places;
  for (Asked& a : asked)
    for (std::size_t i = 0; i < a.requests.size(); ++i) {
      flat.push_back(a.requests[i]);
      places.push_back(&a.answers[i]);
    }
  int64_t done = 0;
  model.score(flat, [&](std::size_t i, const Likelihood& l) {
    *places[i] = l;
    if (progress) progress(++done, static_cast<int64_t>(flat.size()));
  });
}

Sample judged(Asked a, const std::vector<const ChoiceMetric*>& metrics) {
  Evidence e{&a.question, {}, {}, {}};
  for (std::size_t i = 0; i < a.answers.size(); ++i) {
    if (i >= a.conditional) {
      e.unconditional.push_back(a.answers[i].log_prob);
      continue;
    }
    e.log_probs.push_back(a.answers[i].log_prob);
    e.greedy.push_back(a.answers[i].greedy);
  }
  Sample s;
  s.doc_id = a.doc_id;
  s.group = a.group;
  s.target = a.question.target;
  for (const ChoiceMetric* m : metrics) s.scores.push_back(m->score(e));
  s.log_probs = std::move(e.log_probs);
  s.greedy = std::move(e.greedy);
  a.requests.resize(a.conditional);
  s.requests = std::move(a.requests);
  return s;
}

TaskResult choices(const ChosenTask& chosen, const std::vector<RowGroup>& groups,
                   const TaskModel& model, const TaskOptions& options,
                   const TaskProgress& progress) {
  const Task& task = chosen.task;
  CUPEL_CHECK(model.likelihood, user, "task '", task.task,
              "' needs a model that gives probabilities");
  const auto metrics = metrics_of(task);
  const bool unconditional = std::any_of(
      metrics.begin(), metrics.end(), [](const ChoiceMetric* m) { return m->needs_unconditional; });
  auto asked = ask_all(task, groups, model, options, unconditional);
  answer_all(asked, *model.likelihood, progress);
  TaskResult result;
  std::vector<Rule> rules;
  for (const ChoiceMetric* m : metrics)
    rules.push_back({std::string(m->key), m->aggregation, m->higher_is_better});
  for (Asked& a : asked) result.samples.push_back(judged(std::move(a), metrics));
  summarize(result, rules);
  return result;
}

}  // namespace

TaskResult run_task(const ChosenTask& chosen, const TaskModel& model, const TaskOptions& options,
                    const TaskProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  const auto groups = load_rows(chosen, options);
  TaskResult result = chosen.task.output_type == OutputType::generate_until
                          ? generations(chosen, groups, model, options, progress)
                          : choices(chosen, groups, model, options, progress);
  result.task = chosen.group.empty() ? chosen.task.task : cat(chosen.task.task, "_", chosen.group);
  result.version = chosen.task.version;
  result.shots = options.prompt.num_fewshot.value_or(chosen.task.num_fewshot);
  for (TaskResult& g : result.groups) {
    g.version = result.version;
    g.shots = result.shots;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace cupel::eval
