// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "eval/answers/answer.h"

namespace cupel::eval {

/// What a task asks of a model, with lm-eval's names.
enum class OutputType {
  multiple_choice,  ///< which of several texts is the most probable
  loglikelihood,    ///< probability of one text
  generate_until    ///< text, judged by rules
};
enum class Sampler { random, first_n };

/// How many tokens a generation may take and where it stops.
struct GenerationRule : Params {
  std::vector<std::string> until;
  int64_t max_gen_toks = 256;
  double temperature = 0;  ///< 0 is greedy; above, draws from the whole distribution
  void visit(ParamVisitor& v) override;
};

/// A step and a pipeline of answers/filters.h, as a task file holds them.
struct FilterStepParams : Params {
  FilterStep step;
  void visit(ParamVisitor& v) override;
};
struct FilterParams : Params {
  std::string name = "none";
  std::vector<FilterStepParams> filter;
  void visit(ParamVisitor& v) override;
};

/// exact_match: what the answer and the target lose before they are compared.
struct MatchParams : Params {
  ExactMatchOptions options;
  void visit(ParamVisitor& v) override;
};

/// One task file. Templates are Jinja over a row's columns; `doc_to_*` that is exactly a column (or
/// a path "a.b") takes its value untouched. Prompts, few-shot order, lengths and standard errors
/// follow lm-eval 0.4.13, so numbers compare.
struct Task : Params {
  std::string task;
  int64_t version = 1;
  std::string doc;           ///< one line for people
  std::string test_data;     ///< data file (document.h) of the evaluated rows
  std::string fewshot_data;  ///< rows that shots come from; "": the evaluated ones
  std::string group_by;      ///< column whose values make tasks of their own (MMLU's subjects)
  OutputType output_type = OutputType::multiple_choice;
  std::string description;                  ///< template before everything
  std::string doc_to_text;                  ///< the question
  std::vector<std::string> doc_to_choice;   ///< answers; one entry may be a column that is a list
  std::vector<std::string> doc_to_context;  ///< several questions for one shared answer, instead of
                                            ///< doc_to_text and doc_to_choice
  std::string doc_to_target;  ///< index or text of the right choice; the text itself otherwise
  std::string doc_to_continuation;  ///< with doc_to_context: the shared answer
  std::string doc_to_labels;        ///< list of 0/1 a choice, for probability_mass
  std::string target_delimiter = " ", fewshot_delimiter = "\n\n";
  int64_t num_fewshot = 0;
  Sampler fewshot_sampler = Sampler::random;
  std::vector<std::string> metric_list;
  GenerationRule generation_kwargs;
  int64_t repeats = 1;  ///< generations a row
  std::vector<FilterParams> filter_list;
  MatchParams match;
  void visit(ParamVisitor& v) override;
};

/// Fault::user shows every mistake with its line.
Task parse_task(const std::string& yaml, const std::string& name);

/// Name and text of the tasks that come with Cupel.
struct BuiltinTask {
  std::string_view name, yaml;
};
const std::vector<BuiltinTask>& builtin_tasks();

/// A task by name ("piqa"), by name and group ("mmlu_anatomy"), or a YAML file by path. `group` is
/// set to the column value asked for, "" for all. Fault::user with the nearest name.
struct ChosenTask {
  Task task;
  std::string group;
};
ChosenTask find_task(const std::string& name_or_path);

}  // namespace cupel::eval
