// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/session.h"

namespace cupel::cli {

/// Options that many commands share.
struct CommonOptions {
  int threads = 0;
  std::string device = "auto";
  std::string isa = "auto";
  bool json = false, verbose = false, quiet = false, deterministic = false;
};

/// Runs a command: an Error becomes "cupel: message" with its trail on standard error, and the
/// fault's exit code.
int guarded(const CommonOptions& common, const std::function<int()>& command);

/// Text to standard output; a failure (disk full, closed pipe) is an environment error.
void print_out(std::string_view text);

/// How the runtime is used by generate, chat, logits, bench and eval.
struct RuntimeOptions {
  std::string model;
  std::string activations = "exact";  ///< exact | int8
  std::string kv = "f16";             ///< f16 | f32 | int8 | int4 | fp8
  int64_t context = 0;
};
std::shared_ptr<const runtime::Model> open_runtime(const CommonOptions& common,
                                                   const RuntimeOptions& options);
runtime::SessionOptions session_options(const CommonOptions& common, const RuntimeOptions& options);

/// Replaces this process by `cupel-toolkit` with the same arguments. Fault::environment when it is
/// not installed.
[[noreturn]] void exec_toolkit(char** argv);
bool toolkit_is_there();

/// Text of an option that may be given as a file: `--prompt @FILE`; "-" is standard input.
std::string text_argument(const std::string& value);
/// "1,2,3" to ids. Fault::user names what is not a number.
std::vector<text::Token> parse_ids(const std::string& text);

}  // namespace cupel::cli
