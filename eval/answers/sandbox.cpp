// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "eval/answers/sandbox_child.h"

namespace cupel::eval {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kDone = 'x';
constexpr auto kPoll = std::chrono::milliseconds(5);
constexpr int kReads =
    64;  // at a time: more than a pipe holds, and an end for a program without one

// Runs the file with names of its own, then says that its end was reached and leaves, whatever
// threads there are. A program that replaces names in `os` does not change that.
constexpr const char* kDriver =
    "import os, sys\n"
    "def run(write=os.write, leave=os._exit, path=sys.argv[1]):\n"
    "    with open(path, encoding='utf-8') as f: source = f.read()\n"
    "    exec(compile(source, '<program>', 'exec'), {})\n"
    "    write(3, b'x')\n"
    "    try: sys.stdout.flush()\n"
    "    finally: leave(0)\n"
    "run()\n";

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

[[noreturn]] void system_failure(const char* what) {
  fail(Fault::environment, "code execution: ", what, ": ", std::strerror(errno));
}

// Above the numbers that the child gives its own.
Descriptor lifted(int fd) {
  if (fd < 0) system_failure("no descriptor");
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  if (high < 0) system_failure("no descriptor");
  return Descriptor(high);
}

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) system_failure("no pipe");
    read = lifted(fds[0]);
    write = lifted(fds[1]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
  }
};

// A folder for one run, gone afterwards.
class Folder {
 public:
  Folder() {
    std::string path = (fs::temp_directory_path() / "cupel-code-XXXXXX").string();
    if (!mkdtemp(path.data())) system_failure("no temporary folder");
    path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    // The last of the killed processes may still be at it.
    for (int i = 0; i < 50 && !removed(); ++i) std::this_thread::sleep_for(kPoll);
  }
  const std::string& path() const { return path_; }

 private:
  bool removed() {
    std::error_code error;
    fs::remove_all(path_, error);
    if (!error) return true;
    fs::permissions(path_, fs::perms::owner_all, error);
    for (const auto& entry : fs::recursive_directory_iterator(
             path_, fs::directory_options::skip_permission_denied, error))
      if (entry.is_directory(error) && !entry.is_symlink(error))
        fs::permissions(entry.path(), fs::perms::owner_all, error);
    return false;
  }
  std::string path_;
};

// Someone who owns nothing: one of his own for each run, so that his processes can be counted.
uid_t other_user(const std::string& folder) {
  static std::atomic<unsigned> runs{0};
  const uid_t own =
      1'000'000'000u + static_cast<uid_t>(getpid() % 100'000) * 1'000u + runs++ % 1'000u;
  for (const uid_t user : {own, uid_t{65534}})
    if (chown(folder.c_str(), user, user) == 0) return user;
  return 0;
}

// Tasks of this user now: the kernel's limit counts them all.
std::size_t tasks_of_user() {
  std::size_t tasks = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    struct stat info = {};
    const std::string path = entry.path().string();
    if (!std::isdigit(static_cast<unsigned char>(entry.path().filename().string()[0])) ||
        stat(path.c_str(), &info) != 0 || info.st_uid != geteuid())
      continue;
    for (auto t = fs::directory_iterator(path + "/task", error); !error && t != fs::end(t);
         t.increment(error))
      ++tasks;
  }
  return tasks;
}

std::string find_python(const std::string& given) {
  std::vector<std::string> paths = {"/usr/bin/python3", "/usr/local/bin/python3"};
  if (!given.empty()) {
    paths = {given};
  } else if (const char* path = std::getenv("PATH")) {
    const std::string all = path;
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find(':', at), all.size());
      if (end > at) paths.push_back(all.substr(at, end - at) + "/python3");
      at = end + 1;
    }
  }
  for (const auto& p : paths)
    if (access(p.c_str(), X_OK) == 0) return p;
  if (!given.empty()) fail(Fault::environment, "code execution: no interpreter at '", given, "'");
  fail(Fault::environment,
       "code execution needs python3; it is not in /usr/bin, /usr/local/bin or PATH");
}

// Takes what is there; keeps `room` bytes at most. False at the end.
bool drain(int fd, std::string& kept, std::size_t room, bool& cut) {
  std::array<char, 16384> buffer;
  for (int i = 0; i < kReads; ++i) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    const std::size_t take = std::min(static_cast<std::size_t>(n), room - kept.size());
    kept.append(buffer.data(), take);
    cut |= take < static_cast<std::size_t>(n);
  }
  return true;
}

std::string gaps_of(const std::string& reports, bool still_root) {
  constexpr const char* kNames[] = {"", "no network namespace",
                                    "writes outside its folder not barred",
                                    "signals and sockets not barred", ""};
  std::string out = still_root ? "runs as root, its processes are not counted" : "";
  for (std::size_t i = 0; i + sizeof(ChildReport) <= reports.size(); i += sizeof(ChildReport)) {
    ChildReport r;
    std::memcpy(&r, reports.data() + i, sizeof r);
    CUPEL_CHECK(r.step != ChildReport::user, environment,
                "code execution: the program cannot run as another user: ", std::strerror(r.error));
    CUPEL_CHECK(r.step != ChildReport::start, environment,
                "code execution: the interpreter cannot be started: ", std::strerror(r.error));
    out += cat(out.empty() ? "" : "; ", kNames[r.step], " (", std::strerror(r.error), ")");
  }
  return out;
}

// A child in a session of its own; whatever happens, all of it is dead afterwards.
class Child {
 public:
  explicit Child(const ChildPlan& plan) {
    pid_ = fork();
    if (pid_ < 0) system_failure("no process");
    if (pid_ == 0) run_child(plan);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  // Not reaped, so that its number stays its own.
  bool ended() const {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
  }
  // Kills the session; the status as waitpid has it.
  int end() {
    if (pid_ <= 0) return status_;
    // The group again: it may have got its session only now. Until it is reaped the number is its
    // own.
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace

CodeExecutionPermission CodeExecutionPermission::from_option(bool allow_code_execution) {
  CUPEL_CHECK(
      allow_code_execution, user,
      "this task runs code that the model wrote; say --allow-code-execution if you want that "
      "on this machine");
  return {};
}

Sandbox::Sandbox(CodeExecutionPermission, const SandboxLimits& limits, const std::string& python)
    : limits_(limits), python_(find_python(python)) {
  CUPEL_CHECK(limits.wall_s > 0 && limits.cpu_s > 0, user,
              "code execution: limits of time must be above 0");
}

SandboxResult Sandbox::run_python(const std::string& program) const {
  const Folder folder;
  const std::string file = folder.path() + "/program.py";
  std::ofstream(file, std::ios::binary) << program;
  CUPEL_CHECK(fs::file_size(file) == program.size(), environment, "code execution: '", file,
              "' cannot be written");
  chmod(file.c_str(), 0644);
  const bool root = geteuid() == 0;
  Pipe output, verdict, report;
  const Descriptor null = lifted(open("/dev/null", O_RDONLY | O_CLOEXEC));

  std::vector<std::string> words = {python_, "-I", "-c", kDriver, file};
  std::vector<char*> arguments;
  for (auto& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  char* const environment[] = {nullptr};
  ChildPlan plan;
  plan.python = python_.c_str();
  plan.arguments = arguments.data();
  plan.environment = environment;
  plan.folder = folder.path().c_str();
  plan.null_fd = null.get();
  plan.output_fd = output.write.get();
  plan.verdict_fd = verdict.write.get();
  plan.report_fd = report.write.get();
  plan.user = root ? other_user(folder.path()) : 0;
  plan.process_limit = limits_.processes + (plan.user != 0 ? 0 : tasks_of_user());
  plan.limits = limits_;

  SandboxResult result;
  const auto start = Clock::now();
  const auto deadline = start + std::chrono::duration<double>(limits_.wall_s);
  Child child(plan);
  for (auto* p : {&output, &verdict, &report}) p->write.reset();
  bool open = true;
  while (!child.ended() && !result.timed_out) {
    pollfd ready = {open ? output.read.get() : -1, POLLIN, 0};
    poll(&ready, 1, static_cast<int>(kPoll.count()));
    if (open)
      open = drain(output.read.get(), result.output, limits_.output_bytes, result.output_cut);
    result.timed_out = Clock::now() >= deadline;
  }
  const int status = child.end();
  result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  drain(output.read.get(), result.output, limits_.output_bytes, result.output_cut);
  std::string mark, reports;
  bool cut = false;
  drain(verdict.read.get(), mark, 1, cut);
  drain(report.read.get(), reports, 64 * sizeof(ChildReport), cut);
  result.gaps = gaps_of(reports, root && plan.user == 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.completed = !result.timed_out && mark == std::string(1, kDone);
  return result;
}

}  // namespace cupel::eval
