// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <span>
#include <thread>

namespace cupel::runtime {

/// Asks the system, beside whatever else happens, to read a mapped range from disk: a cold file is
/// then read in large steps and not page fault by page fault. Does nothing for ranges that would
/// push everything else out of memory. The map must outlive the thread, whose destructor ends it.
std::jthread read_ahead(std::span<const std::byte> range);

}  // namespace cupel::runtime
