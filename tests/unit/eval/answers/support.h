// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace cupel::test {

using nlohmann::json;

/// The objects of a JSON-lines file.
inline std::vector<json> read_lines(const std::string& path) {
  std::istringstream in(read_text(path));
  std::vector<json> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(json::parse(line));
  return out;
}

/// The file beside this header, or the larger one that the environment variable names.
inline std::vector<json> oracle_cases(const std::string& file, const char* variable) {
  const char* larger = std::getenv(variable);
  return read_lines(larger ? larger
                           : std::string(CUPEL_SOURCE_DIR) + "/tests/unit/eval/answers/" + file);
}

/// A file under $CUPEL_SHARED, or "" if the variable is not set.
inline std::string shared_file(const std::string& name) {
  const char* folder = std::getenv("CUPEL_SHARED");
  return folder ? std::string(folder) + "/" + name : "";
}

template <class Body>
Error error_from(Body body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(Fault::internal, "");
}

}  // namespace cupel::test
