// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands/commands.h"
#include "cli/version.h"
#include "runtime/bench.h"

namespace cupel::cli {

namespace {

void print_json(const runtime::BenchReport& report, const BenchCommand& command) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const auto& r : report.results)
    results.push_back({{"test", r.test},
                       {"depth", r.depth},
                       {"tokens_per_second", r.tokens_per_second},
                       {"stddev", r.stddev},
                       {"gb_per_second", r.gb_per_second}});
  const nlohmann::ordered_json out = {{"model", command.runtime.model},
                                      {"threads", report.threads},
                                      {"device", "cpu"},
                                      {"machine", machine()},
                                      {"activations", command.runtime.activations},
                                      {"kv", command.runtime.kv},
                                      {"kv_position_bytes", report.kv_position_bytes},
                                      {"probe_gb_per_second", report.probe_gb_per_second},
                                      {"results", results}};
  print_out(out.dump(2) + "\n");
}

}  // namespace

int bench_command(const CommonOptions& common, const BenchCommand& command) {
  const auto model = open_runtime(common, command.runtime);
  runtime::BenchOptions options;
  options.prompt = command.prompt;
  options.generate = command.generate;
  options.depth = command.depth;
  options.repeats = command.repeats;
  options.session = session_options(common, command.runtime);
  const runtime::BenchReport report = runtime::bench(model, options);
  if (common.json) {
    print_json(report, command);
    return 0;
  }
  std::string text = cat(machine(), "\n", report.threads, " threads, ", command.runtime.activations,
                         " activations, ", command.runtime.kv, " cache (", report.kv_position_bytes,
                         " bytes a position), read bandwidth probe ",
                         fixed(report.probe_gb_per_second, 1), " GB/s\n");
  for (const auto& r : report.results) {
    text +=
        cat(r.test, "  ", fixed(r.tokens_per_second, 1), " +- ", fixed(r.stddev, 1), " tokens/s");
    if (r.gb_per_second > 0)
      text += cat("  ", fixed(r.gb_per_second, 1), " GB/s, ",
                  fixed(100 * r.gb_per_second / report.probe_gb_per_second, 0), " % of the probe");
    text += "\n";
  }
  print_out(text);
  return 0;
}

}  // namespace cupel::cli
