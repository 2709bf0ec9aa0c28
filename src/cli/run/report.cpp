// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/run/state.h"
#include "cli/version.h"

namespace cupel::cli {

namespace {

using nlohmann::ordered_json;

std::vector<eval::MatrixRow> matrix_rows(const RunState& state) {
  std::vector<eval::MatrixRow> rows;
  const auto& arch = state.model->config().architecture();
  for (const auto& id : format::weight_ids(state.model->config())) {
    const auto found = state.codes.find(canonical_name(arch, id));
    if (found == state.codes.end()) continue;
    const core::FinishedMatrix& m = found->second;
    rows.push_back(
        {m.name, id.layer, std::string(format::role_name(id.role)), m.method,
         m.layout->description(),
         static_cast<double>(m.layout->bits(m.rows, m.cols)) / static_cast<double>(m.rows * m.cols),
         m.relative_error, m.fallback, m.note});
  }
  return rows;
}

/// Loss curves from the events file: it covers a run and all its resumptions; a step that was done
/// twice counts once.
std::vector<eval::Curve> curves_from_events(const std::string& path) {
  std::vector<std::pair<std::string, std::map<int64_t, double>>> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || event.value("kind", "") != "train" || !event.contains("key"))
      continue;
    const std::string key = event["key"];
    auto at =
        std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.first == key; });
    if (at == found.end()) at = found.insert(found.end(), {key, {}});
    at->second[event.value("step", int64_t{0})] = event.value("loss", 0.0);
  }
  std::vector<eval::Curve> out;
  for (const auto& [key, points] : found) {
    eval::Curve curve{key, "loss", {}, {}};
    for (const auto& [step, loss] : points) {
      curve.x.push_back(static_cast<double>(step));
      curve.y.push_back(loss);
    }
    out.push_back(std::move(curve));
  }
  return out;
}

std::string verdict(const eval::RunReport& report) {
  if (!report.before || !report.after) return "";
  const auto& b = *report.before;
  const auto& a = *report.after;
  std::string out = cat(human_bytes(static_cast<double>(b.bytes)), " became ",
                        human_bytes(static_cast<double>(a.bytes)), " (",
                        fixed(a.bits_per_weight, 2), " bits a weight, everything counted)");
  if (!a.texts.empty()) {
    const auto &pa = a.texts[0].perplexity, &pb = b.texts[0].perplexity;
    out += cat("; perplexity ", fixed(pb.value, 2), " -> ", fixed(pa.value, 2));
    if (const auto& d = a.texts[0].divergence)
      out += cat(", KL ", fixed(d->kl_mean, 4), " nats a token, the best token is the same in ",
                 fixed(100 * d->same_top1, 1), " %");
  }
  return out + ".";
}

ordered_json summary_json(const RunState& state, double seconds) {
  ordered_json exports = ordered_json::array();
  for (const auto& [kind, path] : state.report.files)
    exports.push_back({{"format", kind}, {"path", path}});
  const auto result = [](const std::optional<eval::EvalResult>& r) {
    return r ? ordered_json::parse(eval::to_json(*r)) : ordered_json(nullptr);
  };
  return {{"artifact", state.artifact},
          {"exports", exports},
          {"before", result(state.report.before)},
          {"after", result(state.report.after)},
          {"fallbacks", state.report.fallbacks},
          {"warnings", state.report.warnings},
          {"seconds", seconds}};
}

}  // namespace

void write_report(RunState& state, double seconds) {
  eval::RunReport& report = state.report;
  report.date = date_now();
  report.version = version_line("cupel");
  report.machine = machine();
  report.matrices = matrix_rows(state);
  report.curves = curves_from_events(state.path("events.jsonl"));
  for (const auto& row : report.matrices)
    if (!row.fallback.empty()) report.fallbacks.push_back(cat(row.name, ": ", row.fallback));
  report.warnings = log::warnings();
  report.recipe_yaml = state.recipe.to_yaml();
  report.verdict = verdict(report);
  write_atomic(state.path("summary.json"), summary_json(state, seconds).dump(2) + "\n");
  write_atomic(state.path("report.html"), eval::run_report_html(report));
}

}  // namespace cupel::cli
