// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/code_score.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/eval/answers/support.h"

namespace cupel::eval {
namespace {

namespace fs = std::filesystem;

CodeExecutionPermission permission() {
  return CodeExecutionPermission::from_option(true);
}

Sandbox sandbox(const SandboxLimits& limits = {}) {
  return Sandbox(permission(), limits);
}

SandboxResult run(const std::string& program, const SandboxLimits& limits = {}) {
  return sandbox(limits).run_python(program);
}

// Folders of runs that are still there.
std::size_t folders_left() {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
    n += entry.path().filename().string().starts_with("cupel-code-");
  return n;
}

// Whether a process with this word among its arguments lives.
bool is_running(const std::string& word) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

bool is_running_for(const std::string& word, std::chrono::milliseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time;
       std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (!is_running(word)) return false;
  return true;
}

TEST(PassAtK, UnbiasedEstimate) {
  EXPECT_DOUBLE_EQ(pass_at_k(10, 3, 1), 0.3);
  EXPECT_DOUBLE_EQ(pass_at_k(5, 2, 2), 1 - 3.0 / 10);           // C(3,2) / C(5,2)
  EXPECT_DOUBLE_EQ(pass_at_k(20, 5, 10), 1 - 3003.0 / 184756);  // C(15,10) / C(20,10)
  EXPECT_EQ(pass_at_k(4, 0, 4), 0);
  EXPECT_EQ(pass_at_k(4, 1, 4), 1);
  for (const auto& [n, c, k] : {std::array{2, 1, 3}, std::array{2, 1, 0}, std::array{2, 3, 1}})
    EXPECT_EQ(test::error_from([&, n = n, c = c, k = k] { pass_at_k(n, c, k); }).fault(),
              Fault::user);
}

TEST(Sandbox, NeedsPermissionAndAnInterpreter) {
  const Error e = test::error_from([] { CodeExecutionPermission::from_option(false); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("--allow-code-execution"), std::string::npos);
  const Error none = test::error_from([] { Sandbox(permission(), {}, "/nonexistent/python3"); });
  EXPECT_EQ(none.fault(), Fault::environment);
  EXPECT_NE(none.message().find("/nonexistent/python3"), std::string::npos);
  const Error folder = test::error_from([] { Sandbox(permission(), {}, "/").run_python(""); });
  EXPECT_EQ(folder.fault(), Fault::environment);
  EXPECT_NE(folder.message().find("cannot be started"), std::string::npos);
}

TEST(Sandbox, RunsAProgramAndCleansUp) {
  const std::size_t before = folders_left();
  const auto r =
      run("import sys\nprint('out'); print('err', file=sys.stderr, flush=True)\n"
          "open('a', 'w').write('x'); import os; os.makedirs('d/e'); os.rename('a', 'd/b')");
  EXPECT_TRUE(r.completed) << r.output;
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, "err\nout\n");
  EXPECT_FALSE(r.output_cut);
  EXPECT_EQ(folders_left(), before);
  if (!r.gaps.empty()) std::printf("this machine does not give: %s\n", r.gaps.c_str());
}

TEST(Sandbox, FailuresAreNotCompleted) {
  EXPECT_FALSE(run("assert 1 == 2").completed);
  EXPECT_NE(run("assert 1 == 2").output.find("AssertionError"), std::string::npos);
  EXPECT_FALSE(run("def f(:").completed);
  EXPECT_FALSE(run("import sys; sys.exit(0)").completed);
  EXPECT_FALSE(run("import os; os._exit(0)").completed);
  EXPECT_FALSE(run("import os\nos.write = os._exit = print\nraise SystemExit").completed);
  const auto crashed = run("import ctypes; ctypes.string_at(0)");
  EXPECT_FALSE(crashed.completed);
  EXPECT_NE(crashed.signal, 0);
}

TEST(Sandbox, ThreadsThatGoOnDoNotHoldItUp) {
  const auto r =
      run("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()");
  EXPECT_TRUE(r.completed);
  EXPECT_FALSE(r.timed_out);
}

TEST(Sandbox, InfiniteLoopEnds) {
  const auto slept = run("import time\ntime.sleep(100)", {.wall_s = 0.5});
  EXPECT_TRUE(slept.timed_out);
  EXPECT_FALSE(slept.completed);
  EXPECT_LT(slept.wall_s, 5);
  const auto busy = run("while True: pass", {.wall_s = 30, .cpu_s = 1});
  EXPECT_FALSE(busy.timed_out);
  EXPECT_EQ(busy.signal, 9);
}

TEST(Sandbox, NoInputAndNoEnvironment) {
  EXPECT_NE(run("input()").output.find("EOFError"), std::string::npos);
  ::setenv("CUPEL_SECRET_OF_TEST", "1", 1);
  const auto r =
      run("import os\nassert 'CUPEL_SECRET_OF_TEST' not in os.environ and "
          "'PATH' not in os.environ and 'HOME' not in os.environ");
  EXPECT_TRUE(r.completed) << r.output;
}

TEST(Sandbox, HugeAllocationFails) {
  const auto r = run("x = bytearray(8 << 30)");
  EXPECT_FALSE(r.completed);
  EXPECT_NE(r.output.find("MemoryError"), std::string::npos) << r.output;
}

TEST(Sandbox, HugeFileFails) {
  const auto r =
      run("f = open('big', 'wb', buffering=0)\n"
          "try:\n  for _ in range(1000): f.write(b'x' * (1 << 20))\n"
          "except OSError as e: print(e)\n"
          "import os; assert os.path.getsize('big') <= 3 << 20",
          {.file_bytes = 3u << 20});
  EXPECT_TRUE(r.completed) << r.output;
  EXPECT_NE(r.output.find("File too large"), std::string::npos) << r.output;
}

TEST(Sandbox, OutputIsBounded) {
  const auto r = run("while True: print('x' * 1000)", {.wall_s = 1, .output_bytes = 5000});
  EXPECT_EQ(r.output.size(), 5000u);
  EXPECT_TRUE(r.output_cut);
  EXPECT_LT(r.wall_s, 5);
}

TEST(Sandbox, ForkBombIsLimitedAndKilled) {
  const std::string word = cat("bomb-", getpid());
  const auto r = run(
      cat("import os, sys, subprocess\n"
          "for _ in range(3): subprocess.Popen([sys.executable, '-c', 'import time; "
          "time.sleep(99)', '",
          word, "'])\n",
          "while True:\n  try: os.fork()\n  except OSError as e: sys.stderr.write(str(e) + '\\n')"),
      {.wall_s = 2, .processes = 16});
  EXPECT_FALSE(r.completed);
  if (r.gaps.find("not counted") == std::string::npos) {
    EXPECT_NE(r.output.find("Resource temporarily unavailable"), std::string::npos) << r.output;
  }
  EXPECT_FALSE(is_running_for(word, std::chrono::seconds(5)));
}

TEST(Sandbox, ChildrenDoNotOutliveIt) {
  const std::string word = cat("survivor-", getpid());
  const auto r = run(
      cat("import subprocess, sys\n"
          "try: subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', '",
          word, "'], start_new_session=True)\nexcept OSError: pass\n",
          "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', '", word, "'])"));
  EXPECT_TRUE(r.completed) << r.output;
  EXPECT_FALSE(is_running_for(word, std::chrono::seconds(5)));
}

TEST(Sandbox, CannotKillItsParent) {
  const auto r =
      run("import os, signal\n"
          "for kill in (lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: os.kill(-1, "
          "signal.SIGKILL),\n"
          "             lambda: os.killpg(0, signal.SIGTERM)):\n"
          "  try: kill()\n  except OSError as e: print(type(e).__name__)\n");
  if (r.gaps.find("signals") != std::string::npos) GTEST_SKIP() << r.gaps;
  EXPECT_TRUE(r.completed) << r.output;  // and this test goes on
  EXPECT_EQ(r.output, "PermissionError\nPermissionError\nPermissionError\n");
}

TEST(Sandbox, NoNetwork) {
  const auto r =
      run("import socket\n"
          "try: socket.create_connection(('127.0.0.1', 9), 1); print('connected')\n"
          "except OSError as e: print(type(e).__name__)\n"
          "socket.socketpair()\n"
          "import os; print(sorted(os.listdir('/sys/class/net')) if "
          "os.path.isdir('/sys/class/net') else [])");
  if (r.gaps.find("sockets") != std::string::npos) GTEST_SKIP() << r.gaps;
  EXPECT_TRUE(r.completed) << r.output;
  EXPECT_TRUE(r.output.starts_with("PermissionError\n")) << r.output;
}

TEST(Sandbox, NoWritingOutside) {
  const std::string outside =
      (fs::temp_directory_path() / cat("cupel-outside-", getpid())).string();
  const auto r =
      run(cat("try: open('", outside, "', 'w')\nexcept OSError as e: print(type(e).__name__)"));
  if (r.gaps.find("writes") != std::string::npos) GTEST_SKIP() << r.gaps;
  EXPECT_EQ(r.output, "PermissionError\n");
  EXPECT_FALSE(fs::exists(outside));
}

TEST(Sandbox, FoldersWithoutRightsAreRemoved) {
  const std::size_t before = folders_left();
  EXPECT_TRUE(
      run("import os\nos.makedirs('a/b')\nopen('a/b/c', 'w')\nos.chmod('a/b', 0)\nos.chmod('a', 0)")
          .completed);
  EXPECT_EQ(folders_left(), before);
}

TEST(Sandbox, RunsInManyThreads) {
  const Sandbox box = sandbox();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto r = box.run_python(cat("print(", t, ")"));
        right += r.completed && r.output == cat(t, "\n");
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 20);
}

TEST(Code, HumanEvalSolutionsPassAndMutantsFail) {
  const std::string path = test::shared_file("data/code/humaneval.jsonl");
  if (path.empty()) GTEST_SKIP() << "needs data/code/humaneval.jsonl (set CUPEL_SHARED)";
  const Sandbox box = sandbox({.wall_s = 60, .cpu_s = 60});
  std::size_t count = 0;
  for (const auto& line : test::read_lines(path)) {
    const CodeTask task{line["prompt"], line["test"], line["entry_point"]};
    std::vector<std::string> completions = {line["canonical_solution"]};
    if (count < 20) completions.push_back("    return None\n");
    const auto score = score_code(box, task, completions);
    EXPECT_EQ(score.extracted[0].second, "passed") << line["task_id"];
    if (count < 20) {
      EXPECT_NE(score.extracted[1].second, "passed") << line["task_id"];
    }
    EXPECT_EQ(score.metrics[0], (std::pair<std::string, double>{"pass@1", count < 20 ? 0.5 : 1.0}));
    ++count;
  }
  EXPECT_EQ(count, 164u);
}

}  // namespace
}  // namespace cupel::eval
