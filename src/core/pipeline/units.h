// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
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

/// What is kept of a finished matrix: all but its code, which lies in the store. Codes in memory,
/// a byte a weight, would grow with the model.
struct FinishedMatrix {
  std::string name, method, fallback, note;
  std::shared_ptr<const format::Layout> layout;
  int64_t rows = 0, cols = 0;
  double relative_error = 0;
  bool weighted = false;
  format::InputRounding rounding;
  std::string unit;       ///< key of its unit
  std::size_t index = 0;  ///< in the unit
};
FinishedMatrix finished(const QuantizedMatrix& matrix, const std::string& unit, std::size_t index);

/// Finished work in a run folder: `codes/<key>.h5`, one file a unit, written atomically. A unit is
/// done exactly when its file is there, so a killed run loses the work in flight and nothing else.
class UnitStore {
 public:
  explicit UnitStore(std::string folder);
  std::optional<std::vector<QuantizedMatrix>> load_codes(const std::string& key) const;
  /// Fault::environment if it is gone.
  format::WeightCode load_code(const FinishedMatrix& matrix) const;
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
