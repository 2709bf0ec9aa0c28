// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::text {

/// The byte alphabet of GPT-2: bytes 33..126, 161..172 and 174..255 stand for themselves, the other
/// 68 for U+0100.. in byte order.
const std::array<char32_t, 256>& byte_alphabet();

/// Each byte as its character.
void append_byte_level(std::string& out, std::string_view bytes);

/// The bytes that a token spells; a token with other characters in it stands for its own bytes.
void append_byte_level_decoded(std::string& out, std::string_view token);

}  // namespace cupel::text
