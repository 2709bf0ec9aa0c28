// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

namespace cupel::cli {

/// "0.1.0"
std::string version();
/// "cupel 0.1.0 (commit, compiler, CPU level, CUDA)": what --version prints.
std::string version_line(const char* program);
/// The processor's name and the cores that this process may use.
std::string machine();
/// "2026-11-29 14:03 UTC"
std::string date_now();

}  // namespace cupel::cli
