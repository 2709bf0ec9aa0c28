// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/container.h"

namespace cupel::format {

/// Types of metadata values, by their number in the file.
enum class GgufType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};
std::string_view gguf_type_name(GgufType type);

/// A metadata value as it lies in the file, already checked: `bytes` holds `count` elements of
/// `element`.
struct GgufValue {
  bool is_array = false;
  GgufType element = GgufType::u8;
  uint64_t count = 1;
  std::span<const std::byte> bytes;  ///< strings keep their length words
};

using GgufMetadata = std::map<std::string, GgufValue, std::less<>>;

/// One GGUF file (versions 2 and 3) as it lies on disk, mapped and fully validated: a model, or one
/// of several parts of it. Internal to this module.
struct GgufPart {
  explicit GgufPart(const std::string& path);

  MappedFile file;
  uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<TensorEntry> tensors;
  std::vector<std::string> notes;
};

/// A single integer of any type; Fault::data names the key where it is no integer or too large.
int64_t gguf_integer(const GgufValue& value, std::size_t index, std::string_view key);
/// The strings of a value, views into the map.
std::vector<std::string_view> gguf_strings(const GgufValue& value);

}  // namespace cupel::format
