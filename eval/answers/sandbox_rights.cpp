// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// seccomp and Landlock: no libraries, no allocation, callable between fork and exec.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "eval/answers/sandbox_child.h"

namespace cupel::eval {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

// Numbers that are the same on every architecture; older headers lack them.
constexpr long kIoUringSetup = 425, kPidfdSendSignal = 424, kPidfdGetfd = 438;

// Signals to others, leaving the session, sockets, other processes' memory, namespaces and mounts.
constexpr long kForbidden[] = {
    SYS_kill,      SYS_tkill,   SYS_tgkill,       SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_setsid,    SYS_setpgid, SYS_socket,       SYS_ptrace,          SYS_process_vm_readv,
    SYS_unshare,   SYS_setns,   SYS_mount,        SYS_umount2,         SYS_process_vm_writev,
    SYS_bpf,       SYS_keyctl,  SYS_add_key,      SYS_request_key,     SYS_perf_event_open,
    kIoUringSetup, kPidfdGetfd, kPidfdSendSignal, SYS_userfaultfd};

// Calls that are forbidden for one value of their second argument: signals by way of descriptors.
struct ForbiddenArgument {
  long call;
  uint32_t value;
};
constexpr ForbiddenArgument kForbiddenArguments[] = {{SYS_fcntl, 8 /* F_SETOWN */},
                                                     {SYS_fcntl, 10 /* F_SETSIG */},
                                                     {SYS_fcntl, 15 /* F_SETOWN_EX */},
                                                     {SYS_ioctl, 0x8901 /* FIOSETOWN */},
                                                     {SYS_ioctl, 0x8902 /* SIOCSPGRP */}};

constexpr uint32_t at(std::size_t field) {
  return static_cast<uint32_t>(field);
}

// The program of the filter: three instructions of head, two or four a rule, one of tail.
struct Filter {
  std::array<sock_filter, 80> code = {};
  unsigned short size = 0;

  void add(uint16_t operation, uint32_t k, uint8_t jump_true = 0, uint8_t jump_false = 0) {
    code[size++] = {operation, jump_true, jump_false, k};
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, at(offset)); }
  void refuse() { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM); }
};

static_assert(8 + 2 * std::size(kForbidden) + 5 * std::size(kForbiddenArguments) <= 85);

Filter make_filter() {
  Filter f;
  f.load(offsetof(seccomp_data, arch));
  f.add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  f.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  f.add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);  // the x32 calls have numbers of their own
  f.refuse();
#endif
  for (const long call : kForbidden) {
    f.add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
    f.refuse();
  }
  for (const auto& [call, value] : kForbiddenArguments) {
    f.add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
    f.load(offsetof(seccomp_data, args) + sizeof(uint64_t));
    f.add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    f.refuse();
    f.load(offsetof(seccomp_data, nr));
  }
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return f;
}

int add_rule(int rules, const char* path, uint64_t access) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno;
  const landlock_path_beneath_attr rule = {access, fd};
  const long rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int error = rc < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace

int forbid_system_calls() noexcept {
  if (kArchitecture == 0) return ENOSYS;
  Filter filter = make_filter();
  const sock_fprog program = {filter.size, filter.code.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

int forbid_writes_outside(const char* folder) noexcept {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) return errno;
  constexpr uint64_t kRefer = 1u << 13, kTruncate = 1u << 14;  // since versions 2 and 3
  uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) writes |= kRefer;
  if (version >= 3) writes |= kTruncate;
  const uint64_t handled = writes;  // the first member of the attributes, which grew since
  const int rules =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  if (rules < 0) return errno;
  int error = add_rule(rules, folder, writes);
  if (error == 0) error = add_rule(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
  if (error == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0) error = errno;
  close(rules);
  return error;
}

}  // namespace cupel::eval
