// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "cli/run/state.h"

namespace cupel::cli {

/// `cupel check`: reads the recipe, opens no weights, prints the plan: steps, sizes, peak memory,
/// estimated time.
int check_recipe(const RunOptions& options, bool json);

}  // namespace cupel::cli
