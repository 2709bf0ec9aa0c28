// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cupel::detail {

/// The portable forms, which tests compare with those that use instructions of the CPU.
uint32_t crc32c_by_table(std::span<const std::byte> bytes, uint32_t crc);
void sha256_scalar(uint32_t* state, const std::byte* p, std::size_t blocks);
/// The fastest form that this CPU has.
void sha256_blocks(uint32_t* state, const std::byte* p, std::size_t blocks);

}  // namespace cupel::detail
