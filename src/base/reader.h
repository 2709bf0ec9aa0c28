// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/yaml.h"

namespace cupel {

/// Reads a mapping or nothing; `place` is where messages about it as a whole point to, `subject`
/// what they call it.
void read_mapping(const Node& node, const Node& place, const std::string& subject, Params& params,
                  std::vector<Problem>& problems);

/// Reads a Choice that messages call `subject`.
void read_named(const Node& node, const std::string& subject, Choice& choice,
                std::vector<Problem>& problems);

/// "; did you mean 'x'?" or "".
std::string hint(std::string_view given, const std::vector<std::string>& names);
/// Node::kind(), and whether it is quoted.
std::string shown(const Node& node);

}  // namespace cupel
