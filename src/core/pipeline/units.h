// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantizer.h"

namespace cupel::core {

/// One matrix that a unit of work produced, with what the report says of it.
struct QuantizedMatrix {
  std::string name, method;
  MatrixResult result;
  double relative_error =
      0;                  ///< |W - W^|^2 / |W|^2, under the input's second moment when there is one
  bool weighted = false;  ///< whether that second moment was used
};

/// Finished work in a run folder: `codes/<key>.h5`, one file a unit, written atomically. A unit is
/// done exactly when its file is there, so a killed run loses the work in flight and nothing else.
class UnitStore {
 public:
  explicit UnitStore(std::string folder);
  std::optional<std::vector<QuantizedMatrix>> load_codes(const std::string& key) const;
  void save_codes(const std::string& key, const std::vector<QuantizedMatrix>& matrices) const;
  /// What a method that plans decided: `plans/<key>.json`.
  std::optional<std::string> load_plan(const std::string& key) const;
  void save_plan(const std::string& key, const std::string& plan) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path(const char* kind, const std::string& key) const;
  std::string folder_;
};

}  // namespace cupel::core
