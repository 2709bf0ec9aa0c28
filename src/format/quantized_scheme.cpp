// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/quantized_scheme.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::format {
namespace {

std::string shown(const SchemeConfig& value) {
  return value.dump(-1, ' ', true, SchemeConfig::error_handler_t::replace);
}

/// The value behind a key; nullptr for absent and null.
const SchemeConfig* value_of(const SchemeConfig& object, const char* key) {
  CUPEL_CHECK(object.is_object(), data, "quantization_config: an object expected, found ",
              shown(object));
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

}  // namespace

const TensorEntry& SchemeInput::need(const std::string& name, const TensorEntry& owner) const {
  const TensorEntry* entry = find(name);
  CUPEL_CHECK(entry, data, "tensor '", owner.name, "' needs '", name, "', which is missing");
  return *entry;
}

void SchemeInput::add(std::unique_ptr<StoredTensor> tensor) {
  for (const TensorEntry* entry : tensor->entries)
    CUPEL_CHECK(taken_.insert(entry->name).second, data, "tensor '", entry->name,
                "' belongs to two weights, the second is '", tensor->name, "'");
  tensors.push_back(std::move(tensor));
}

int64_t integer_key(const SchemeConfig& object, const char* key, int64_t otherwise) {
  const SchemeConfig* value = value_of(object, key);
  if (!value) return otherwise;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  CUPEL_CHECK(fits, data, "quantization_config: ", key, " is ", shown(*value),
              ", an integer expected");
  return value->get<int64_t>();
}

std::string text_key(const SchemeConfig& object, const char* key, const std::string& otherwise) {
  const SchemeConfig* value = value_of(object, key);
  if (!value) return otherwise;
  CUPEL_CHECK(value->is_string(), data, "quantization_config: ", key, " is ", shown(*value),
              ", text expected");
  return value->get<std::string>();
}

bool flag_key(const SchemeConfig& object, const char* key, bool otherwise) {
  const SchemeConfig* value = value_of(object, key);
  if (!value) return otherwise;
  CUPEL_CHECK(value->is_boolean(), data, "quantization_config: ", key, " is ", shown(*value),
              ", true or false expected");
  return value->get<bool>();
}

const SchemeConfig* object_key(const SchemeConfig& object, const char* key) {
  const SchemeConfig* value = value_of(object, key);
  CUPEL_CHECK(!value || value->is_object(), data, "quantization_config: ", key, " is ",
              value ? shown(*value) : "", ", an object expected");
  return value;
}

void check_known(const std::string& value, const char* what,
                 std::initializer_list<std::string_view> known) {
  CUPEL_CHECK(std::find(known.begin(), known.end(), value) != known.end(), data,
              "quantization_config: ", what, " '", value,
              "' is not supported (known: ", joined(known), ")");
}

void check_axes(const TensorEntry& entry, std::size_t axes) {
  const bool empty =
      std::any_of(entry.shape.begin(), entry.shape.end(), [](int64_t size) { return size <= 0; });
  CUPEL_CHECK(entry.shape.size() == axes && !empty, data, "tensor '", entry.name,
              "' has the shape ", list_text(entry.shape), ", ", axes,
              " axes expected, none of them empty");
}

void check_shape(const TensorEntry& entry, const std::vector<int64_t>& expected) {
  CUPEL_CHECK(entry.shape == expected, data, "tensor '", entry.name, "' has the shape ",
              list_text(entry.shape), ", ", list_text(expected), " expected");
}

void check_type(const TensorEntry& entry, std::initializer_list<ElementType> known) {
  if (std::find(known.begin(), known.end(), entry.type) != known.end()) return;
  std::vector<std::string_view> names;
  for (const ElementType type : known) names.push_back(traits(type).name);
  fail(Fault::data, "tensor '", entry.name, "' is stored as ", traits(entry.type).name, ", ",
       joined(names), " expected");
}

float one_number(const TensorEntry& entry) {
  check_type(entry, {ElementType::f32, ElementType::f16, ElementType::bf16});
  CUPEL_CHECK(entry.elements() == 1, data, "tensor '", entry.name, "' has the shape ",
              list_text(entry.shape), ", one number expected");
  float value;
  to_float(entry.type, entry.bytes, {&value, 1});
  return value;
}

}  // namespace cupel::format
