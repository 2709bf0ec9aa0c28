// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf_keys.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::format {
namespace {

/// Hyperparameters without effect on the forward pass.
constexpr std::string_view kHarmless[] = {
    "context_length",   "tensor_data_layout",
    "pooling_type",     "rope.scaling.original_context_length",
    "attention.causal", "rope.scaling.finetuned",
};

/// Nothing is switched on: a number or a flag of 0.
bool is_off(const GgufValue& value) {
  return !value.is_array && value.element != GgufType::string &&
         std::all_of(value.bytes.begin(), value.bytes.end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::string GgufKeys::key(std::string_view name) {
  return *used_.insert(cat(prefix_, ".", name)).first;
}

bool GgufKeys::has(std::string_view name) const {
  return file_.has(cat(prefix_, ".", name));
}

int64_t GgufKeys::integer(std::string_view name, std::optional<int64_t> otherwise) {
  const std::string k = key(name);
  const auto value = file_.integer(k);
  CUPEL_CHECK(value || otherwise, data, "the key '", k, "' is missing");
  constexpr int64_t kMost = int64_t{1} << 31;
  CUPEL_CHECK(value.value_or(1) >= 1 && value.value_or(1) <= kMost, data, "the key '", k, "' is ",
              *value, ", a positive number expected");
  return value ? *value : *otherwise;
}

int64_t GgufKeys::count(std::string_view name) {
  return file_.integer(key(name)) == 0 ? 0 : has(name) ? integer(name) : 0;
}

double GgufKeys::real(std::string_view name, std::optional<double> otherwise) {
  const std::string k = key(name);
  const auto value = file_.real(k);
  CUPEL_CHECK(value || otherwise, data, "the key '", k, "' is missing");
  CUPEL_CHECK(!value || (*value > 0 && std::isfinite(*value)), data, "the key '", k, "' is ",
              *value, ", a positive number expected");
  return value ? *value : *otherwise;
}

std::string GgufKeys::text(std::string_view name, std::string_view otherwise) {
  return file_.text(key(name)).value_or(std::string(otherwise));
}

bool GgufKeys::flag(std::string_view name, bool otherwise) {
  return file_.flag(key(name)).value_or(otherwise);
}

std::optional<std::vector<bool>> GgufKeys::layers(std::string_view name, int64_t layers) {
  if (!has(name)) return std::nullopt;
  const GgufValue& value = file_.metadata().find(key(name))->second;
  std::vector<bool> out;
  if (!value.is_array) {
    const int64_t each = integer(name);
    for (int64_t i = 0; i < layers; ++i) out.push_back((i + 1) % each != 0);
    return out;
  }
  CUPEL_CHECK(value.element == GgufType::boolean && value.count == static_cast<uint64_t>(layers),
              data, "the key '", key(name), "' is not a list of one boolean for each of the ",
              layers, " layers");
  for (const std::byte b : value.bytes) out.push_back(b != std::byte{0});
  return out;
}

void GgufKeys::check_rest() const {
  for (const auto& [k, value] : file_.metadata()) {
    if (!k.starts_with(prefix_ + ".") || used_.contains(k)) continue;
    const std::string_view name = std::string_view(k).substr(prefix_.size() + 1);
    CUPEL_CHECK(is_off(value) || std::ranges::find(kHarmless, name) != std::end(kHarmless), data,
                "the key '", k, "' stands for a feature that is not supported");
  }
}

}  // namespace cupel::format
