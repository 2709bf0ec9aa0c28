// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "eval/answers/sandbox.h"

namespace cupel::eval {

/// What the child reports before it becomes the interpreter.
struct ChildReport {
  enum Step : int32_t { user, network, writes, system_calls, start };
  int32_t step = 0;
  int32_t error = 0;  ///< errno
};

/// Everything that the child needs, made before the fork: behind it only system calls are safe.
/// Descriptors are above 9.
struct ChildPlan {
  const char* python = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;  ///< its working folder, the only one that it may write to
  int null_fd = -1, output_fd = -1, verdict_fd = -1, report_fd = -1;
  uid_t user = 0;  ///< to become; 0 stays who it is
  std::size_t process_limit = 0;
  SandboxLimits limits = {};
};

/// Takes away rights and becomes the interpreter: 0 is /dev/null, 1 and 2 the output, 3 the
/// verdict. Each step that fails is reported; `start` is the one that ends it.
[[noreturn]] void run_child(const ChildPlan& plan) noexcept;

/// Of the calling thread and what it starts, for ever. 0 or errno.
int forbid_system_calls() noexcept;
/// Writing, making and removing only below `folder` (and to /dev/null). 0 or errno.
int forbid_writes_outside(const char* folder) noexcept;

}  // namespace cupel::eval
