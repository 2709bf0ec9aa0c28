// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/stored_tensor.h"

/// What the schemes of quantized checkpoints share. Internal to this module.
namespace cupel::format {

using SchemeConfig = nlohmann::ordered_json;

/// A checkpoint while a scheme looks for its tensors.
class SchemeInput {
 public:
  SchemeInput(const Container& container, const SchemeConfig& the_config,
              std::set<std::string_view>& taken)
      : config(the_config), container_(container), taken_(taken) {}

  const SchemeConfig& config;  ///< the scheme's object
  const std::vector<TensorEntry>& entries() const { return container_.tensors(); }
  /// nullptr when there is none.
  const TensorEntry* find(const std::string& name) const { return container_.find(name); }
  /// Fault::data names what is missing, and the entry that needs it.
  const TensorEntry& need(const std::string& name, const TensorEntry& owner) const;
  bool taken(const TensorEntry& entry) const { return taken_.contains(entry.name); }

  /// Adds a tensor and takes its entries.
  void add(std::unique_ptr<StoredTensor> tensor);
  /// Takes an entry that belongs to no weight.
  void take(const TensorEntry& entry) { taken_.insert(entry.name); }

  std::vector<std::unique_ptr<StoredTensor>> tensors;
  std::vector<std::string> notes;

 private:
  const Container& container_;
  std::set<std::string_view>& taken_;
};

// The schemes. Fault::data names what does not fit.
void read_fp8(SchemeInput& in);
void read_mxfp4(SchemeInput& in);
void read_compressed_tensors(SchemeInput& in);
void read_gptq(SchemeInput& in);
void read_awq(SchemeInput& in);
void read_modelopt(SchemeInput& in);

// Keys of a scheme's object; null counts as absent. Fault::data for a value of another kind.
int64_t integer_key(const SchemeConfig& object, const char* key, int64_t otherwise);
std::string text_key(const SchemeConfig& object, const char* key, const std::string& otherwise);
bool flag_key(const SchemeConfig& object, const char* key, bool otherwise);
/// nullptr when absent.
const SchemeConfig* object_key(const SchemeConfig& object, const char* key);
/// Fault::data lists the known values.
void check_known(const std::string& value, const char* what,
                 std::initializer_list<std::string_view> known);

/// a / b rounded up, of positive numbers.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a - 1) / b + 1;
}
/// Fault::data unless the entry has `axes` axes, none of them empty.
void check_axes(const TensorEntry& entry, std::size_t axes);
void check_shape(const TensorEntry& entry, const std::vector<int64_t>& expected);
void check_type(const TensorEntry& entry, std::initializer_list<ElementType> known);
/// The number of an entry that holds one.
float one_number(const TensorEntry& entry);

}  // namespace cupel::format
