// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf_part.h"

namespace cupel::format {

/// A GGUF model: one file, or all parts of a split one whichever of them is opened (the metadata
/// are those of the first). Getters are typed: a key of another type is Fault::data that names the
/// key.
class GgufFile final : public Container {
 public:
  explicit GgufFile(const std::string& path);

  std::string metadata_json() const override;
  std::string kind() const override;
  const GgufMetadata& metadata() const { return parts_.front()->metadata; }
  /// What the constructor was given.
  const std::string& path() const { return path_; }

  bool has(std::string_view key) const { return metadata().find(key) != metadata().end(); }
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

  std::string path_;
  std::vector<std::unique_ptr<GgufPart>> parts_;
};

}  // namespace cupel::format
