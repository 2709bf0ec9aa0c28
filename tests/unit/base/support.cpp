// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "support.h"

#include <algorithm>

#include "base/yaml.h"

namespace cupel::test {

std::vector<std::string> TempFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

void Uniform::visit(ParamVisitor& v) {
  v.field("bits", bits, "bits of one code").in(2, 8);
  v.field("group", group, "weights that share a scale").in(0, 4096);
}

const std::vector<Alternative>& layouts() {
  static const std::vector<Alternative> list = {
      {"uniform", "integers by group", [] { return std::make_shared<Uniform>(); }},
      {"nf4", "a fixed table", [] { return std::make_shared<Plain>(); }}};
  return list;
}

void Source::visit(ParamVisitor& v) {
  v.field("file", file, "a text");
  v.field("samples", samples, "pieces of it").in(1, 1e18);
}

void Method::visit(ParamVisitor& v) {
  v.field("bits", bits, "bits of one code").in(2, 8);
  v.field("group", group, "weights that share a scale").in(0, 4096);
  v.field("damp", damp, "share of the mean diagonal").in(0, 1);
  v.field("sym", sym, "no zero point");
  v.field("dtype", dtype, "element type");
  v.field("tasks", tasks, "what to run");
  v.field("scales", scales, "what to try");
  v.field("order", order, {{"natural", 0}, {"activation", 1}}, "order of the columns");
  v.field("source", source, "where text comes from");
  v.field("layout", layout, "what the bits mean");
  list_field(v, "sources", sources, "more texts");
  v.check(group % 8 == 0, "group must be a multiple of 8");
}

std::string read(const std::string& yaml, Params& params) {
  const Document document = Document::from_text(yaml, "r.yaml");
  std::vector<Problem> problems;
  read_params(document.root(), params, problems);
  return document.format(problems);
}

}  // namespace cupel::test
