// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/version.h"

#include <ctime>
#include <fstream>

#include "base/cat.h"
#include "base/threads.h"
#include "cupel_version.h"
#include "kernels/isa.h"

namespace cupel::cli {

std::string version() {
  return CUPEL_VERSION;
}

std::string version_line(const char* program) {
  return cat(program, " ", CUPEL_VERSION, " (commit ", CUPEL_COMMIT, ", ", CUPEL_COMPILER,
             ", CPU kernels up to ", kernels::isa_name(kernels::best_isa()), ", CUDA kernels ",
             CUPEL_CUDA_TEXT, ")");
}

std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    name = line.substr(line.find(':') + 2);
    break;
  }
  return cat(name, ", ", usable_processors(), " cores, ", kernels::isa_name(kernels::best_isa()));
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return text;
}

}  // namespace cupel::cli
