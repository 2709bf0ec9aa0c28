// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The reader of recipes: YAML, typed parameters with choices and lists inside, problems with their
// places, and --set.
#include <vector>

#include "base/yaml.h"
#include "format/layout.h"
#include "tests/fuzz/fuzz.h"

namespace {

/// A step's parameters as recipes have them.
struct Source : cupel::Params {
  std::string file = "x.txt";
  int64_t samples = 16;
  void visit(cupel::ParamVisitor& v) override {
    v.field("file", file, "text");
    v.field("samples", samples, "how many").in(1, 1000);
  }
};

struct Step : cupel::Params {
  double damp = 0.01;
  bool strict = false;
  std::vector<std::string> tasks;
  Source source;
  void visit(cupel::ParamVisitor& v) override {
    v.field("damp", damp, "share").in(0, 1);
    v.field("strict", strict, "or not");
    v.field("tasks", tasks, "names");
    v.field("source", source, "where from");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  const std::string_view input = fuzz::text_of(data, size);
  const std::size_t cut = input.find('\0');
  return fuzz::tolerate([&] {
    Document document = Document::from_text(std::string(input.substr(0, cut)), "recipe.yaml");
    if (cut != std::string_view::npos)
      fuzz::tolerate([&] { document.set("steps.0.a", input.substr(cut + 1)); });
    Step step;
    std::vector<Problem> problems;
    read_params(document.root(), step, problems);
    document.format(problems);
    params_yaml(step);
  });
}
