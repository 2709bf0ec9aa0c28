// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/architecture.h"
#include "format/weight_code.h"
#include "runtime/model.h"
#include "runtime/session.h"

namespace cupel::runtime {

/// The instruction sets that this processor has.
std::vector<kernels::Isa> levels();

/// A seeded model small enough for every test, of sizes that no vector width divides.
struct TinyModel {
  format::ModelConfig config;
  std::map<std::string, std::vector<float>> weights;  ///< by canonical name

  std::vector<float>& at(format::Role role, int layer = -1, int expert = -1);
  const std::vector<float>& at(format::WeightId id) const;
};

TinyModel make_tiny(uint64_t seed, bool tied);
/// Random weights for a configuration.
TinyModel make_tiny(uint64_t seed, const format::ModelConfig& config);

/// How the matrices of an artifact are stored.
struct Packing {
  std::string layout = "dense";  ///< or "uniform"
  int bits = 8, group = 32;
  bool symmetric = false;
  int hadamard = 0;  ///< block of the input transform, with random signs and scales; 0 is none, -1
                     ///< the whole width
};

/// Files in a folder of its own that lives as long as the test program.
std::string temporary_path(const std::string& name);
std::string write_folder(const TinyModel& model, const std::string& name,
                         const std::string& tokenizer_json = {});
/// Packs the matrices, round to nearest; `stored` receives what the file then means, transforms
/// undone.
std::string write_packed(const TinyModel& model, const Packing& packing, const std::string& name,
                         TinyModel* stored = nullptr, const std::string& tokenizer_json = {});

std::vector<text::Token> random_ids(uint64_t seed, int64_t count, int64_t vocab);
std::vector<float> logits_of(Session& session, const std::vector<text::Token>& ids);
double largest_difference(const std::vector<float>& logits,
                          const std::vector<std::vector<double>>& reference);

}  // namespace cupel::runtime
