// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf.h"

namespace cupel::format {

/// The hyperparameters of a GGUF file: keys behind the architecture's prefix, each ticked off as it
/// is used. Names are without the prefix. Fault::data names a key of the wrong type or range. Keeps
/// a reference to the file. Internal to this module.
class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  const GgufFile& file() const { return file_; }
  bool has(std::string_view name) const;
  /// Positive; required without `otherwise`.
  int64_t integer(std::string_view name, std::optional<int64_t> otherwise = std::nullopt);
  /// 0 or more; a missing key is 0.
  int64_t count(std::string_view name);
  double real(std::string_view name, std::optional<double> otherwise = std::nullopt);
  std::string text(std::string_view name, std::string_view otherwise);
  bool flag(std::string_view name, bool otherwise);
  /// Which layers: a list of one boolean for each, or a number n: all but each n-th.
  std::optional<std::vector<bool>> layers(std::string_view name, int64_t layers);
  /// Fault::data for a key that was not asked for: it could change the result.
  void check_rest() const;

 private:
  std::string key(std::string_view name);

  const GgufFile& file_;
  std::string prefix_;
  std::set<std::string> used_;
};

}  // namespace cupel::format
