// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "base/params.h"

namespace cupel {

std::vector<std::string> names_of(const std::vector<Alternative>& list);
std::string name_of(const EnumNames& names, int value);

/// `text` as a scalar in flow style, quoted where another reading is possible.
std::string yaml_text(const std::string& text);

/// A bound or range for people: integers without exponent, "at least 1" when one side is open.
std::string number_text(double value);
std::string range_text(double lo, double hi);

}  // namespace cupel
