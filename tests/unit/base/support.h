// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/params.h"

namespace cupel::test {

/// A folder that is removed with what it holds.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cupel-test-XXXXXX").string();
    CUPEL_CHECK(::mkdtemp(pattern.data()), environment, "no temporary folder");
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Names of the files in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// The Error that `body` throws; a test failure and an empty one if it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(Fault::internal, "");
}

enum class Order { natural, activation };

struct Uniform : Params {
  int bits = 4, group = 128;
  void visit(ParamVisitor& v) override;
};

struct Plain : Params {
  void visit(ParamVisitor&) override {}
};

const std::vector<Alternative>& layouts();

struct Source : Params {
  std::string file = "x.txt";
  int64_t samples = 16;
  void visit(ParamVisitor& v) override;
};

/// One field of every kind.
struct Method : Params {
  int bits = 4;
  int64_t group = 128;
  double damp = 0.01;
  bool sym = false;
  std::string dtype = "bfloat16";
  std::vector<std::string> tasks = {"arc_easy"};
  std::vector<double> scales = {0.5, 1};
  Order order = Order::natural;
  Source source;
  Choice layout{layouts(), "uniform"};
  std::vector<Source> sources;
  void visit(ParamVisitor& v) override;
};

/// Reads `yaml` into `params` and formats the problems, "" if there are none.
std::string read(const std::string& yaml, Params& params);

}  // namespace cupel::test
