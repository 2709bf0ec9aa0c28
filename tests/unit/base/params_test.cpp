// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/params.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "support.h"

namespace cupel {
namespace {

using test::Method;
using test::Uniform;

const FieldDoc& doc_of(const std::vector<FieldDoc>& rows, const std::string& name) {
  static const FieldDoc none;
  for (const FieldDoc& row : rows)
    if (row.name == name) return row;
  ADD_FAILURE() << "no row " << name;
  return none;
}

TEST(Params, Json) {
  Method method;
  method.sources.emplace_back();
  EXPECT_EQ(
      params_json(method),
      R"({"bits":4,"group":128,"damp":0.01,"sym":false,"dtype":"bfloat16","tasks":["arc_easy"],)"
      R"("scales":[0.5,1],"order":"natural","source":{"file":"x.txt","samples":16},)"
      R"("layout":{"uniform":{"bits":4,"group":128}},)"
      R"("sources":[{"file":"x.txt","samples":16}]})");
}

TEST(Params, JsonIsValidForEveryValue) {
  Method method;
  method.damp = std::numeric_limits<double>::infinity();
  method.dtype = "a \"b\"\n\xff";
  EXPECT_TRUE(nlohmann::json::accept(params_json(method)));
  method.damp = 1.0 / 3;
  EXPECT_EQ(nlohmann::json::parse(params_json(method))["damp"].get<double>(), 1.0 / 3);
}

TEST(Params, YamlReadsBack) {
  Method method;
  method.dtype = "true";
  method.tasks = {"",   "a: b", "*.mlp.*", "null",  "-1",    "x#y",
                  "#z", "it's", "\"",      "tab\t", "\u00e9"};
  method.damp = 1e-5;
  method.scales = {1e300, 1.0 / 3};
  method.group = 64;
  method.order = test::Order::activation;
  method.layout = Choice(test::layouts(), "nf4");
  method.sources.resize(2);
  method.sources[1].file = "a, b]";
  Method back;
  EXPECT_EQ(test::read(params_yaml(method), back), "");
  EXPECT_EQ(params_json(back), params_json(method));
}

TEST(Params, YamlText) {
  Method method;
  EXPECT_EQ(params_yaml(method),
            "{bits: 4, group: 128, damp: 0.01, sym: false, dtype: bfloat16, tasks: [arc_easy], "
            "scales: [0.5, 1], order: natural, source: {file: x.txt, samples: 16}, "
            "layout: {uniform: {bits: 4, group: 128}}, sources: []}");
}

TEST(Params, Docs) {
  const Method method;
  const auto rows = params_docs(method);
  const FieldDoc& bits = doc_of(rows, "bits");
  EXPECT_EQ(bits.type, "integer");
  EXPECT_EQ(bits.value, "4");
  EXPECT_EQ(bits.allowed, "[2, 8]");
  EXPECT_EQ(bits.doc, "bits of one code");
  EXPECT_EQ(doc_of(rows, "sym").allowed, "true, false");
  EXPECT_EQ(doc_of(rows, "order").allowed, "natural, activation");
  EXPECT_EQ(doc_of(rows, "order").value, "natural");
  EXPECT_EQ(doc_of(rows, "source.samples").allowed, "at least 1");
  EXPECT_EQ(doc_of(rows, "layout").allowed, "uniform, nf4");
  EXPECT_EQ(doc_of(rows, "layout.nf4").doc, "a fixed table");
  EXPECT_EQ(doc_of(rows, "layout.uniform.bits").allowed, "[2, 8]");
  EXPECT_EQ(doc_of(rows, "sources[].file").type, "text");
  EXPECT_TRUE(method.sources.empty());
}

struct Nested : Params {
  Choice inner;
  explicit Nested(const std::vector<Alternative>& list) { inner.options = &list; }
  void visit(ParamVisitor& v) override { v.field("inner", inner, "itself"); }
};

TEST(Params, DocsOfChoicesThatHoldThemselvesEnd) {
  std::vector<Alternative> list;
  list.push_back({"again", "", [&] { return std::make_shared<Nested>(list); }});
  EXPECT_LT(params_docs(Nested(list)).size(), 20u);
}

TEST(Params, ChoiceByName) {
  EXPECT_EQ(Choice(test::layouts(), "uniform").as<Uniform>().bits, 4);
  const Error e = test::error_of([] { Choice(test::layouts(), "uniforn"); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(), "unknown name 'uniforn'; did you mean 'uniform'? (known: uniform, nf4)");
}

}  // namespace
}  // namespace cupel
