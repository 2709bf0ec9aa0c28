// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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

/// A GGUF file (versions 2 and 3). Getters are typed: a key of another type is Fault::data that
/// names the key.
class GgufFile final : public Container {
 public:
  explicit GgufFile(const std::string& path);

  std::string metadata_json() const override;
  std::string kind() const override;
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const std::string& path() const { return file_.path(); }

  bool has(std::string_view key) const { return metadata_.find(key) != metadata_.end(); }
  std::optional<std::string> text(std::string_view key) const;
  /// Any integer type; negative values of signed types are refused.
  std::optional<int64_t> integer(std::string_view key) const;
  /// f32 (as the double with the same shortest decimal form: 1e-5 stays 1e-5), f64.
  std::optional<double> real(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  /// Views into the map, valid while this object lives.
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<float>> reals(std::string_view key) const;

 private:
  const GgufValue* value(std::string_view key, bool array) const;
  void read_metadata(class GgufCursor& in, uint64_t count);
  void read_tensors(class GgufCursor& in, uint64_t count);
  void place_tensors(std::size_t infos_end, const std::vector<uint64_t>& offsets);

  MappedFile file_;
  uint32_t version_ = 0;
  std::size_t alignment_ = 32;
  std::map<std::string, GgufValue, std::less<>> metadata_;
};

}  // namespace cupel::format
