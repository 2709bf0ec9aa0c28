// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/task.h"

#include "base/error.h"
#include "base/yaml.h"

namespace cupel::eval {

namespace {

bool is_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

Task read_task(const Document& document) {
  Task task;
  std::vector<Problem> problems;
  read_params(document.root(), task, problems);
  if (!problems.empty()) fail(Fault::user, document.format(std::move(problems)));
  return task;
}

}  // namespace

void GenerationRule::visit(ParamVisitor& v) {
  v.field("until", until, "texts that end the generation");
  v.field("max_gen_toks", max_gen_toks, "tokens at most").in(1, 1 << 20);
  v.field("temperature", temperature, "0 always takes the best token").in(0, 100);
}

void FilterStepParams::visit(ParamVisitor& v) {
  v.field("function", step.function,
          "regex, remove_whitespace, lowercase, take_first, majority_vote");
  v.field("regex_pattern", step.regex_pattern, "what regex looks for");
  v.field("group_select", step.group_select, "0: the first match, -1: the last").in(-1, 0);
  v.field("fallback", step.fallback, "the answer where nothing matches");
}

void FilterParams::visit(ParamVisitor& v) {
  v.field("name", name, "stands behind the metric's name");
  list_field(v, "filter", filter, "steps, in order");
}

void MatchParams::visit(ParamVisitor& v) {
  v.field("regexes_to_ignore", options.regexes_to_ignore, "removed from both, in this order");
  v.field("ignore_case", options.ignore_case, "compare in lower case");
  v.field("ignore_punctuation", options.ignore_punctuation, "without ASCII punctuation");
  v.field("ignore_numbers", options.ignore_numbers, "without digits");
}

void Task::visit(ParamVisitor& v) {
  v.field("task", task, "name");
  v.field("version", version, "raised when the numbers change").in(0, 1000);
  v.field("doc", doc, "one line about the task");
  v.field("test_data", test_data,
          "data file of the evaluated rows (.jsonl, .json, .csv, each .gz)");
  v.field("fewshot_data", fewshot_data, "data file of the shots; empty: the evaluated rows");
  v.field("group_by", group_by, "column whose values make tasks of their own");
  v.field("output_type", output_type,
          {{"multiple_choice", 0}, {"loglikelihood", 1}, {"generate_until", 2}}, "what is asked");
  v.field("description", description, "template that stands before everything");
  v.field("doc_to_text", doc_to_text, "template of the question");
  v.field("doc_to_choice", doc_to_choice, "answers: templates, or one column that holds a list");
  v.field("doc_to_context", doc_to_context, "several questions that share one answer");
  v.field("doc_to_continuation", doc_to_continuation, "the answer that doc_to_context share");
  v.field("doc_to_target", doc_to_target, "the right choice (index or text), or the wanted text");
  v.field("doc_to_labels", doc_to_labels, "column with 0 or 1 for each choice");
  v.field("target_delimiter", target_delimiter, "between question and answer");
  v.field("fewshot_delimiter", fewshot_delimiter, "between shots");
  v.field("num_fewshot", num_fewshot, "shots").in(0, 1000);
  v.field("fewshot_sampler", fewshot_sampler, {{"random", 0}, {"first_n", 1}},
          "how shots are taken");
  v.field("metric_list", metric_list, "metrics (harness/metrics.h)");
  v.field("generation_kwargs", generation_kwargs, "how text is generated");
  v.field("repeats", repeats, "generations of each row").in(1, 1000);
  list_field(v, "filter_list", filter_list, "ways to read an answer");
  v.field("match", match, "what exact_match ignores");
  v.check(!task.empty(), "'task' (the name) must be given");
  v.check(!test_data.empty(), "'test_data' must be given");
  v.check(!metric_list.empty(), "'metric_list' must name at least one metric");
  v.check(doc_to_context.empty() || !doc_to_continuation.empty(),
          "'doc_to_context' needs 'doc_to_continuation'");
  v.check(!doc_to_text.empty() || !doc_to_context.empty(), "'doc_to_text' must be given");
  v.check(output_type != OutputType::multiple_choice || !doc_to_choice.empty() ||
              !doc_to_context.empty(),
          "multiple_choice needs 'doc_to_choice' or 'doc_to_context'");
}

Task parse_task(const std::string& yaml, const std::string& name) {
  return read_task(Document::from_text(yaml, name));
}

ChosenTask find_task(const std::string& name) {
  if (is_file(name)) return {read_task(Document::from_file(name)), ""};
  std::vector<std::string> names;
  for (const BuiltinTask& t : builtin_tasks()) {
    if (t.name == name) return {parse_task(std::string(t.yaml), name), ""};
    names.emplace_back(t.name);
  }
  for (const BuiltinTask& t : builtin_tasks()) {
    if (!name.starts_with(cat(t.name, "_"))) continue;
    Task task = parse_task(std::string(t.yaml), std::string(t.name));
    if (!task.group_by.empty()) return {std::move(task), name.substr(t.name.size() + 1)};
  }
  const std::string near = nearest_name(name, names);
  std::string known;
  for (const std::string& n : names) known += cat(known.empty() ? "" : ", ", n);
  fail(Fault::user, "unknown task '", name, "'",
       near.empty() ? "" : cat("; did you mean '", near, "'?"), " (known: ", known,
       "; or the path of a task's .yaml file)");
}

}  // namespace cupel::eval
