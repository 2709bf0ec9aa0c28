// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/report.h"

#include "base/cat.h"
#include "tests/unit/eval/example.h"
#include "tests/unit/eval/markup.h"

namespace cupel::eval {
namespace {

using test::count;

RunReport full_report() {
  RunReport r;
  r.title = "Model <x>";
  r.date = "2026-01-02";
  r.machine = "a machine";
  r.verdict = "269 MB became 77.4 MB.";
  r.before = test::example_result("original", 1, false);
  r.after = test::example_result("model.cupel", 1, true);
  for (int layer = 0; layer < 4; ++layer)
    for (const char* role : {"query", "key", "value", "output", "gate", "up", "down"})
      r.matrices.push_back({cat(layer, ".", role), layer, role, "quant.gptq", "4-bit g64", 4.5,
                            0.01 * (layer + 1), "", ""});
  r.matrices[3].fallback = "plain rounding: not positive definite";
  r.curves = {{"2: distill.kd", "loss", {0, 1, 2}, {3, 2, 1}}};
  r.samples = {{"a <b>", "one two", "one three"}, {"same", "x", "x"}, {"other", "x", "y"}};
  r.step_seconds = {{"load", 1.5}};
  r.recipe_yaml = "version: 1\n";
  r.warnings = {"careful & slow"};
  r.notes = {"a note"};
  r.files = {{"artifact", "model.cupel"}};
  return r;
}

/// What stands between the body's tags.
std::string body_of(const std::string& page) {
  const std::size_t begin = page.find("<main>");
  return page.substr(begin, page.find("</body>") - begin);
}

TEST(RunReportPage, ShowsEverything) {
  const std::string page = run_report_html(full_report()), body = body_of(page);
  test::expect_well_formed(body);
  test::expect_finite(body);
  for (const char* there :
       {"Model &lt;x&gt;", "269 MB became", "77.4 MB", "20.96", "0.0713", "85.1 %",
        "careful &amp; slow", "a note", "2: distill.kd", "a &lt;b&gt;", "the same for 5 characters",
        "identical", "different from the start", "plain rounding: not positive definite",
        "version: 1", "All 28 matrices", "2026-01-02 \xC2\xB7 a machine"})
    EXPECT_NE(body.find(there), std::string::npos) << there;
  // Two charts of errors, one of bits, two of KL, one of a loss.
  EXPECT_EQ(count(body, "<svg"), 6u);
  EXPECT_EQ(count(page, "http"), 0u);
}

TEST(RunReportPage, LeavesOutWhatThereIsNot) {
  const std::string body = body_of(run_report_html({}));
  test::expect_well_formed(body);
  EXPECT_EQ(count(body, "<h2"), 0u);
  RunReport r = full_report();
  r.before->texts.clear();
  test::expect_well_formed(body_of(run_report_html(r)));
  r.after->texts.clear();
  test::expect_well_formed(body_of(run_report_html(r)));
}

TEST(RunReportPage, LongListsFold) {
  RunReport r;
  for (int i = 0; i < 200; ++i) r.fallbacks.push_back(cat("matrix ", i));
  const std::string body = body_of(run_report_html(r));
  EXPECT_NE(body.find("Fell back: 200"), std::string::npos);
  EXPECT_NE(body.find("194 more"), std::string::npos);
  EXPECT_EQ(count(body, "<li>"), 200u);
}

TEST(RunReportPage, AgreementCountsWholeCharacters) {
  RunReport r;
  // Both characters start with the same byte.
  r.samples = {{"p", "a\xC3\xA9", "a\xC3\xA8"}};
  EXPECT_NE(run_report_html(r).find("the same for 1 character<"), std::string::npos);
}

TEST(EvalReportPage, FewModelsSideBySideManyInRows) {
  std::vector<EvalResult> results = {test::example_result("original", 2, false),
                                     test::example_result("b", 2, true)};
  const std::string few = body_of(eval_report_html("t", results));
  test::expect_well_formed(few);
  EXPECT_EQ(count(few, "scroll facts"), 1u);
  for (const char* name : {"c", "d", "e"}) results.push_back(test::example_result(name, 2, true));
  const std::string many = body_of(eval_report_html("t", results));
  test::expect_well_formed(many);
  EXPECT_EQ(count(many, "scroll facts"), 0u);
  EXPECT_EQ(count(many, "<table>"), 9u);  // four a text, one of the models
  EXPECT_NE(many.find("Size against divergence"), std::string::npos);
  test::expect_well_formed(body_of(eval_report_html("", {})));
}

}  // namespace
}  // namespace cupel::eval
