// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "eval/reference_file.h"

namespace cupel::eval {

/// Parts of a reference file that its writer and its reader share.

/// Magic, version, header and CRC.
std::string reference_head(const ReferenceHeader& header);
struct ReferenceHead {
  ReferenceHeader header;
  std::size_t size = 0;  ///< bytes up to the first block
};
/// Fault::data names what is wrong.
ReferenceHead read_reference_head(std::span<const std::byte> file);

/// Bytes of a token id, and of a row.
std::size_t id_bytes(const ReferenceHeader& header);
std::size_t row_bytes(const ReferenceHeader& header);

}  // namespace cupel::eval
