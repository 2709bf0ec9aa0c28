// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/verdict_text.h"

#include <cmath>

#include "base/cat.h"
#include "base/error.h"

namespace cupel::eval {
namespace {

std::string shortest(double value, int digits) {
  std::string text = fixed(value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string margin_text(double margin) {
  const std::string number = shortest(100 * margin, 2);
  return cat(number, number == "1" ? " point" : " points");
}

/// One digit after the point, and no "-0.0".
std::string points(double change) {
  const std::string text = fixed(100 * change, 1);
  return text == "-0.0" ? "0.0" : text;
}

std::string interval_text(double low, double high, const VerdictOptions& options) {
  return cat("(", percent_text(options.confidence), ": ", points(low), " to ", points(high), ")");
}

std::string named(const TaskVerdict& v) {
  return cat(v.task, " (", points(std::abs(v.loss)), ")");
}

void add_clause(std::string& out, const char* what, const std::vector<std::string>& tasks) {
  if (tasks.empty()) return;
  out += cat(out.empty() ? "" : "; ", what, " ", joined(tasks));
}

}  // namespace

std::string about_documents(int64_t documents) {
  int64_t unit = 1;
  while (documents / unit >= 100) unit *= 10;
  return cat("about ", (documents + unit - 1) / unit * unit);
}

std::string points_text(double change) {
  return cat(points(change), " points");
}

std::string percent_text(double share) {
  return cat(shortest(100 * share, 3), " %");
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::gain:
      return "gain";
    case Verdict::no_loss:
      return "no loss";
    case Verdict::small_loss:
      return "small loss";
    case Verdict::loss:
      return "loss";
    case Verdict::undecided:
      return "not decided";
  }
  fail(Fault::internal, "a verdict without a name");
}

std::string_view paired_method_name(PairedMethod method) {
  switch (method) {
    case PairedMethod::score:
      return "McNemar, score interval";
    case PairedMethod::bootstrap:
      return "BCa bootstrap";
    case PairedMethod::sign:
      return "sign test, exact bounds";
  }
  fail(Fault::internal, "a method without a name");
}

std::string verdict_text(const TaskVerdict& v, const VerdictOptions& options) {
  const std::string margin = margin_text(options.margin);
  const std::string interval = interval_text(v.interval.low, v.interval.high, options);
  switch (v.verdict) {
    case Verdict::gain:
      return cat("gains ", points_text(-v.loss), " ",
                 interval_text(-v.interval.high, -v.interval.low, options));
    case Verdict::no_loss:
      return cat("no loss larger than ", margin, " at ", percent_text(options.confidence));
    case Verdict::small_loss:
      return cat("loses ", points_text(v.loss), " ", interval, ", less than ", margin);
    case Verdict::loss:
      return cat("loses ", points_text(v.loss), " ", interval);
    case Verdict::undecided:
      return cat("not decided: ", v.documents, " documents can't tell a loss of ", margin,
                 " (interval at ", percent_text(options.confidence), ": ", points(v.interval.low),
                 " to ", points(v.interval.high), " points); ", about_documents(v.documents_needed),
                 " would, if the difference stays as it is");
  }
  fail(Fault::internal, "a verdict without a text");
}

std::string verdict_summary(const std::vector<TaskVerdict>& verdicts,
                            const VerdictOptions& options) {
  if (verdicts.empty()) return "no task was compared";
  std::vector<std::string> gains, losses, small, undecided;
  std::size_t kept = 0;
  for (const TaskVerdict& v : verdicts) {
    kept += v.p_margin_holm <= (1 - options.confidence) / 2;
    if (v.verdict == Verdict::gain) gains.push_back(named(v));
    if (v.verdict == Verdict::loss) losses.push_back(named(v));
    if (v.verdict == Verdict::small_loss) small.push_back(named(v));
    if (v.verdict == Verdict::undecided) undecided.push_back(v.task);
  }
  const std::string limit = cat("no loss larger than ", margin_text(options.margin), " at ",
                                percent_text(options.confidence));
  std::string out;
  if (kept == verdicts.size())
    out = kept == 1 ? limit : cat(limit, " on any of ", kept, " tasks");
  else if (kept > 0)
    out = cat(limit, " on ", kept, " of ", verdicts.size(), " tasks");
  add_clause(out, "points lost:", losses);
  add_clause(out, "points lost, fewer than that:", small);
  add_clause(out, "points gained:", gains);
  add_clause(out, "not decided:", undecided);
  return out;
}

}  // namespace cupel::eval
