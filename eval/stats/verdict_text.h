// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>

#include "eval/stats/verdict.h"

namespace cupel::eval {

/// "about 5600": two digits that count, rounded up.
std::string about_documents(int64_t documents);
/// A mean score's change in points (hundredths): "2.3 points".
std::string points_text(double change);
/// A share for people, without zeros at the end: "95 %", "99.5 %".
std::string percent_text(double share);
/// The verdict of one task in words.
std::string verdict_text(const TaskVerdict& v, const VerdictOptions& options);

}  // namespace cupel::eval
