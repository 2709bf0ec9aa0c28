// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/eval_tasks.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "eval/harness/cache.h"
#include "eval/harness/rows.h"
#include "eval/harness/run_task.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

eval::TaskOptions task_options(const TaskCommand& command, const Respondent& who,
                               const std::optional<text::Template>& chat) {
  eval::TaskOptions out;
  out.data = command.data;
  out.limit = command.limit;
  out.allow_code_execution = command.allow_code_execution;
  out.prompt = {.num_fewshot = command.num_fewshot,
                .chat = chat ? &*chat : nullptr,
                .fewshot_as_multiturn = command.fewshot_as_multiturn,
                .system = command.system,
                .bos = who.tokenizer->special_text("bos_token"),
                .eos = who.tokenizer->special_text("eos_token")};
  return out;
}

std::optional<text::Template> chat_template(const TaskCommand& command, const Respondent& who) {
  if (!command.apply_chat_template) {
    CUPEL_CHECK(!command.fewshot_as_multiturn, user,
                "--fewshot-as-multiturn needs --apply-chat-template");
    return {};
  }
  const std::string& source = who.tokenizer->chat_template();
  CUPEL_CHECK(!source.empty(), data, "--apply-chat-template: the model has no chat template");
  return text::Template::parse(source);
}

/// All tasks by name, their data read once, so that a mistake shows before hours of work.
std::vector<eval::ChosenTask> choose(const TaskCommand& command, const eval::TaskOptions& options) {
  CUPEL_CHECK(!command.data.empty(), user,
              "--tasks needs --data DIR, the folder with the data files");
  std::vector<eval::ChosenTask> out;
  for (const std::string& name : command.tasks) {
    out.push_back(eval::find_task(name));
    eval::load_rows(out.back(), options);
    CUPEL_CHECK(out.back().task.metric_list[0] != "pass@1" || command.allow_code_execution, user,
                "task '", name,
                "' runs programs that the model wrote; --allow-code-execution permits that");
  }
  return out;
}

}  // namespace

std::vector<eval::TaskResult> run_tasks(const TaskCommand& command, const Respondent& who) {
  if (command.tasks.empty()) return {};
  const std::optional<text::Template> chat = chat_template(command, who);
  const eval::TaskOptions options = task_options(command, who, chat);
  const std::vector<eval::ChosenTask> tasks = choose(command, options);
  std::unique_ptr<eval::LikelihoodModel> kept;
  std::unique_ptr<text::Generator> kept_generator;
  std::optional<eval::AnswerCache> cache;
  eval::TaskModel model{who.likelihood, who.generator, who.tokenizer, who.likelihood->max_length()};
  if (!command.cache.empty()) {
    cache.emplace(command.cache, who.identity);
    kept = eval::cached(*who.likelihood, *cache);
    model.likelihood = kept.get();
    if (who.generator) {
      kept_generator = eval::cached(*who.generator, *cache);
      model.generator = kept_generator.get();
    }
  }
  std::vector<eval::TaskResult> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    log::Progress progress("task " + command.tasks[i], 1, "requests");
    out.push_back(eval::run_task(tasks[i], model, options, [&](int64_t done, int64_t all) {
      progress.update(static_cast<double>(done) / static_cast<double>(all));
    }));
  }
  return out;
}

std::string file_identity(const std::string& model) {
  std::vector<fs::path> files;
  if (fs::is_directory(model)) {
    for (const auto& entry : fs::directory_iterator(model))
      if (entry.is_regular_file()) files.push_back(entry.path());
  } else {
    files.push_back(model);
  }
  std::sort(files.begin(), files.end());
  std::string out;
  for (const fs::path& f : files)
    out += cat(fs::absolute(f).string(), " ", fs::file_size(f), " ",
               fs::last_write_time(f).time_since_epoch().count(), "\n");
  return out;
}

std::string task_list() {
  std::string out;
  for (const eval::BuiltinTask& t : eval::builtin_tasks()) {
    const eval::Task task = eval::parse_task(std::string(t.yaml), std::string(t.name));
    const std::string name(t.name);
    out += cat(name, std::string(name.size() < 16 ? 16 - name.size() : 1, ' '), task.num_fewshot,
               "-shot  ", task.doc, "\n");
  }
  return out;
}

}  // namespace cupel::cli
