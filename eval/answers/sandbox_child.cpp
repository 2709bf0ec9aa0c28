// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/sandbox_child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cupel::eval {
namespace {

// Decimal digits without allocation; the end of the text.
char* put_number(char* out, unsigned value) {
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while (value /= 10);
  while (n > 0) *out++ = digits[--n];
  return out;
}

bool write_file(const char* path, const char* text, std::size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text, size) == static_cast<ssize_t>(size);
  close(fd);
  return written;
}

// "id id 1": the identity stays what it is.
bool write_map(const char* path, unsigned id) {
  char text[40];
  char* end = put_number(text, id);
  *end++ = ' ';
  end = put_number(end, id);
  *end++ = ' ';
  *end++ = '1';
  return write_file(path, text, static_cast<std::size_t>(end - text));
}

// 0 or errno. A network of its own without privileges: in a user namespace.
int leave_network_by_user_namespace() {
  const unsigned user = geteuid(), group = getegid();
  prctl(PR_SET_DUMPABLE, 1);  // else the maps belong to root
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return errno;
  const bool mapped = write_file("/proc/self/setgroups", "deny", 4) &&
                      write_map("/proc/self/uid_map", user) &&
                      write_map("/proc/self/gid_map", group);
  return mapped ? 0 : errno;
}

// System calls as they are: the library's functions tell other threads, which a child does not
// have.
int become(uid_t user) {
  if (syscall(SYS_setgroups, 0, nullptr) != 0 || syscall(SYS_setresgid, user, user, user) != 0 ||
      syscall(SYS_setresuid, user, user, user) != 0)
    return errno;
  return 0;
}

template <class Resource>
void limit(Resource resource, rlim_t most) {
  rlimit now = {};
  getrlimit(resource, &now);
  if (now.rlim_max != RLIM_INFINITY && most > now.rlim_max) most = now.rlim_max;
  now = {most, most};
  setrlimit(resource, &now);
}

void set_limits(const ChildPlan& plan) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, plan.limits.file_bytes);
  limit(RLIMIT_NOFILE, plan.limits.open_files);
  limit(RLIMIT_NPROC, plan.process_limit);
  limit(RLIMIT_CPU, static_cast<rlim_t>(plan.limits.cpu_s));
  limit(RLIMIT_AS, plan.limits.memory_bytes);
}

void reset_signals() {
  for (int s = 1; s < NSIG; ++s) std::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// 4 is the report, which closes when the interpreter starts.
void place_descriptors(const ChildPlan& plan) {
  dup2(plan.null_fd, 0);
  dup2(plan.output_fd, 1);
  dup2(plan.output_fd, 2);
  dup2(plan.verdict_fd, 3);
  dup3(plan.report_fd, 4, O_CLOEXEC);
  constexpr long kCloseRange = 436;
  if (syscall(kCloseRange, 5u, ~0u, 0u) != 0)
    for (int fd = 5; fd < 65536; ++fd) close(fd);
}

}  // namespace

void run_child(const ChildPlan& plan) noexcept {
  place_descriptors(plan);
  const auto report = [](ChildReport::Step step, int error) {
    const ChildReport r = {step, error};
    if (error != 0 && write(4, &r, sizeof r) != sizeof r) _exit(127);
  };
  reset_signals();
  setsid();
  int network = geteuid() == 0 && unshare(CLONE_NEWNET) == 0 ? 0 : EPERM;
  if (plan.user != 0) {
    const int error = become(plan.user);
    report(ChildReport::user, error);
    if (error != 0) _exit(127);  // the folder is not its own
  }
  if (network != 0) network = leave_network_by_user_namespace();
  report(ChildReport::network, network);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (chdir(plan.folder) != 0) {
    report(ChildReport::start, errno);
    _exit(127);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  report(ChildReport::writes, forbid_writes_outside(plan.folder));
  report(ChildReport::system_calls, forbid_system_calls());
  set_limits(plan);
  execve(plan.python, plan.arguments, plan.environment);
  report(ChildReport::start, errno);
  _exit(127);
}

}  // namespace cupel::eval
