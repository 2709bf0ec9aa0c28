// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/session.h"

namespace cupel::runtime {

struct BenchOptions {
  int64_t prompt = 512, generate = 128, depth = 0;
  int repeats = 5;
  SessionOptions session;
};
struct BenchResult {
  std::string test;  ///< "pp512", "tg128", with " @ d4096" for a depth
  int64_t depth = 0;
  double tokens_per_second = 0, stddev = 0;
  double gb_per_second = 0;  ///< weights and KV read per second (0 for prompts)
};
struct BenchReport {
  int threads = 0;
  double probe_gb_per_second = 0;  ///< read bandwidth of these threads, measured in this run
  int64_t kv_position_bytes = 0;   ///< of the KV cache, one position
  std::vector<BenchResult> results;
};
BenchReport bench(std::shared_ptr<const Model> model, const BenchOptions& options);

}  // namespace cupel::runtime
