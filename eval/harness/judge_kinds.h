// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string_view>

#include "eval/harness/judge.h"

namespace cupel::eval {

inline constexpr std::string_view kPassAt = "pass@";

bool is_ifeval_metric(std::string_view name);
std::unique_ptr<Judge> make_ifeval_judge(const Task& task);
/// `allowed`: the user permitted to run programs that a model wrote (Fault::user otherwise).
std::unique_ptr<Judge> make_code_judge(const Task& task, bool allowed);

}  // namespace cupel::eval
