// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <string>

#include "format/layout.h"

/// Helpers of layouts that are made of others: the arrays and planes of a part carry its name and a
/// dot in front of theirs.
namespace cupel::format {

template <class T>
void put_part(const std::string& part, std::map<std::string, T> from,
              std::map<std::string, T>& to) {
  for (auto& [name, value] : from) to.insert_or_assign(part + "." + name, std::move(value));
}

template <class T>
std::map<std::string, T> take_part(const std::string& part, const std::map<std::string, T>& from) {
  std::map<std::string, T> out;
  const std::string prefix = part + ".";
  for (const auto& [name, value] : from)
    if (name.starts_with(prefix)) out.emplace(name.substr(prefix.size()), value);
  return out;
}

inline WeightCode part_code(const WeightCode& whole, const std::string& part,
                            std::shared_ptr<const Layout> layout, int64_t rows, int64_t cols) {
  return {std::move(layout), rows, cols, {}, take_part(part, whole.arrays)};
}

inline void put_specs(const std::string& part, std::vector<Layout::PlaneSpec> from,
                      std::vector<Layout::PlaneSpec>& to) {
  for (auto& spec : from) {
    spec.name = part + "." + spec.name;
    to.push_back(std::move(spec));
  }
}

}  // namespace cupel::format
