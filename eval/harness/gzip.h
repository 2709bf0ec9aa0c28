// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>

namespace cupel::eval {

/// The contents of a gzip file (several members too), at most 4 GiB. Fault::data with `name` for
/// anything else.
std::string gunzip(std::string_view bytes, const std::string& name);

}  // namespace cupel::eval
