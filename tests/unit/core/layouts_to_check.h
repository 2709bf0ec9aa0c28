// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "format/layout.h"

namespace cupel::core::testing {

using LayoutPtr = std::shared_ptr<const format::Layout>;

/// Every layout of the registry, and some with other parameters.
inline std::vector<LayoutPtr> layouts_to_check() {
  std::vector<LayoutPtr> all;
  for (const Alternative& a : format::layout_alternatives())
    all.push_back(format::make_layout(Choice(format::layout_alternatives(), a.name)));
  const std::pair<const char*, const char*> others[] = {
      {"uniform", R"({"bits":1,"group":32})"},
      {"uniform", R"({"bits":3,"group":0,"symmetric":true})"},
      {"fp8", R"({"element":"e5m2","scale":"tensor"})"},
      {"fp8", R"({"scale":"block"})"},
      {"mx", R"({"element":"e2m3"})"},
      {"mx", R"({"element":"e4m3"})"},
      {"ternary", R"({"packing":"two-bit","group":0})"},
      {"lut", R"({"grid":"sign","bits":1,"group":32})"},
      {"lut", R"({"grid":"nf","bits":3,"scale":"e4m3"})"},
      {"sinh", R"({"bits":3,"offset":0.06,"alpha":1.5})"},
      {"nested", R"({"bits":6,"kept":3})"},
      {"mixed", R"({"rows":0,"cols":32,"parts":[{"layout":{"uniform":{"bits":2}},"share":0.5},
                   {"layout":{"uniform":{"bits":3}},"share":0.3},{"layout":"fp8","share":0.2}]})"},
      {"sum",
       R"({"base":"nvfp4","rank":3,"full_rows":2,"factors":{"uniform":{"bits":4,"group":32}}})"},
  };
  for (const auto& [name, params] : others) all.push_back(format::make_layout(name, params));
  return all;
}

}  // namespace cupel::core::testing
