// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <string>

namespace cupel::eval {

/// Proof that the user allowed code written by a model to run on this machine. It can only be made
/// from the value of an option that says so.
class CodeExecutionPermission {
 public:
  /// Fault::user unless `allow_code_execution` is true.
  static CodeExecutionPermission from_option(bool allow_code_execution);

 private:
  CodeExecutionPermission() = default;
};

/// Of one program and all processes that it starts, unless said otherwise.
struct SandboxLimits {
  double wall_s = 10;                    ///< then all its processes are killed
  int cpu_s = 10;                        ///< of each process
  std::size_t memory_bytes = 1u << 30;   ///< address space of each process
  std::size_t file_bytes = 16u << 20;    ///< of each file that it writes
  std::size_t open_files = 64;           ///< of each process
  std::size_t processes = 32;            ///< and threads, at any time
  std::size_t output_bytes = 64u << 10;  ///< kept of stdout and stderr; the rest is dropped
};

struct SandboxResult {
  bool completed = false;  ///< the last line was reached: no exception, no exit before it
  int exit_code = -1;      ///< -1 if a signal ended it
  int signal = 0;          ///< 0 if it ended by itself
  bool timed_out = false;  ///< wall_s was over
  double wall_s = 0;
  std::string output;       ///< stdout and stderr as they came
  bool output_cut = false;  ///< there was more
  /// Protections that this machine does not give, each with the reason; "" if it gives all.
  std::string gaps;
};

/// Runs programs that nobody has read, with `python3 -I`. Always: the limits above, an empty
/// environment, no input, a session of its own that is killed whole, a temporary folder that is
/// removed afterwards. Where the kernel permits (SandboxResult::gaps says where not): no network
/// (an empty network namespace, no sockets), no signals to other processes, no writing outside the
/// temporary folder, and another user's identity if the caller is root. Files that the user may
/// read can be read. Linux only. Immutable, thread-safe.
class Sandbox {
 public:
  /// `python`: path of the interpreter; "" takes python3 of /usr/bin, /usr/local/bin or PATH.
  /// Fault::environment if there is none.
  explicit Sandbox(CodeExecutionPermission permission, const SandboxLimits& limits = {},
                   const std::string& python = "");
  /// Runs the program as a module of its own (`__name__` is "builtins", as in other harnesses).
  /// Fault::environment if the interpreter cannot be started.
  SandboxResult run_python(const std::string& program) const;

 private:
  SandboxLimits limits_;
  std::string python_;
};

}  // namespace cupel::eval
