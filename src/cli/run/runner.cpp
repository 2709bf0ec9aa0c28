// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ATen/Parallel.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/commands/toolkit.h"
#include "cli/run/state.h"
#include "cli/version.h"
#include "eval/result.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

/// One process at a time works in a run folder; the lock goes with the process, also when it is
/// killed.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : file_(open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    CUPEL_CHECK(file_ >= 0, environment, "can't write in '", folder, "'");
    CUPEL_CHECK(flock(file_, LOCK_EX | LOCK_NB) == 0, environment, "another run works in '", folder,
                "'");
  }
  ~FolderLock() { close(file_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

bool is_used(const std::string& folder) {
  return fs::exists(fs::path(folder) / "manifest.json");
}

void prepare_folder(const RunOptions& options) {
  CUPEL_CHECK(options.resume || !is_used(options.out), user, "'", options.out,
              "' holds a run already; add --resume to go on with it, or choose another --out");
  CUPEL_CHECK(!fs::exists(options.out) || fs::is_directory(options.out), user, "'", options.out,
              "' is not a folder");
  for (const char* name : {"", "/codes", "/checkpoints", "/plans"})
    make_folder(cat(options.out, name));
}

void write_manifest(const RunState& state) {
  const nlohmann::ordered_json json = {
      {"program", version_line("cupel")},
      {"started", date_now()},
      {"machine", machine()},
      {"device", state.options.common.device},
      {"deterministic", state.options.common.deterministic},
      {"threads", at::get_num_threads()},
      {"model", state.recipe.model.path},
      {"model_key", state.key},
      {"seed", state.recipe.seed},
      {"recipe_sha256", Sha256().add(state.recipe.to_yaml()).hex()}};
  write_atomic(state.path("manifest.json"), json.dump(2) + "\n");
  write_atomic(state.path("recipe.resolved.yaml"), state.recipe.to_yaml());
}

int finish(const RunState& state, double seconds) {
  std::vector<eval::EvalResult> rows;
  if (state.report.before) rows.push_back(*state.report.before);
  if (state.report.after) rows.push_back(*state.report.after);
  log::info("run", cat("done in ", fixed(seconds, 0), " s, peak memory ",
                       human_bytes(peak_resident_bytes())));
  std::string text = eval::text_table(rows);
  text += cat("\n", state.report.verdict, "\nreport   ", state.path("report.html"), "\nsummary  ",
              state.path("summary.json"), "\n");
  for (const auto& [kind, path] : state.report.files) text += cat(kind, " ", path, "\n");
  for (const std::string& f : state.report.fallbacks) text += cat("fallback: ", f, "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!state.options.strict || state.report.fallbacks.empty()) return 0;
  fail(Fault::data, state.report.fallbacks.size(),
       " matrices fell back to less than the recipe asks for, and --strict was given");
}

}  // namespace

int run_recipe(const RunOptions& options) {
  const double start = now_seconds();
  RunState state;
  state.options = options;
  state.recipe = load_recipe(options);
  state.recipe_folder = fs::path(options.recipe).parent_path().string();
  if (state.recipe_folder.empty()) state.recipe_folder = ".";
  check_files(state.recipe, state.recipe_folder);
  set_up_torch(options.common);
  log::clear_warnings();
  open_model(state);
  prepare_folder(options);
  const FolderLock lock(options.out);
  log::open_events(state.path("events.jsonl"));
  state.store.emplace(options.out);
  write_manifest(state);
  run_steps(state);
  run_exports(state);
  run_evaluation(state);
  const double seconds = now_seconds() - start;
  write_report(state, seconds);
  log::close_events();
  return finish(state, seconds);
}

}  // namespace cupel::cli
