// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "core/planner.h"

namespace cupel::quant {

/// Matrices that get one option, at every option: what they weigh, what they cost, and their
/// weights as they would be read.
struct MixUnit {
  core::Ladder ladder;
  std::vector<std::string> names;                ///< of the matrices
  std::vector<std::vector<at::Tensor>> decoded;  ///< [option][matrix]; only probes read them
};

/// How a mix is sought.
struct MixSearch {
  int64_t budget_bytes = 0;
  bool measured = true;  ///< costs are errors: scale each unit's by the divergence that it causes
  int rounds = 1;        ///< times that the best mix so far is measured around and solved anew
  bool guard = true;     ///< use one option for all if that diverges less
  /// What options of two units cost together (core::allocate_coupled); empty: nothing. The first
  /// mix is sought with them; divergences that are measured around a mix hold them already.
  std::vector<float> couplings;
};

/// Which option each unit gets, and what it was chosen for.
struct Mix {
  std::vector<int> options;  ///< by unit
  int64_t bytes = 0;
  double divergence = 0;            ///< of the whole model with it
  int single = -1;                  ///< the best option that all units can have; -1: none fits
  double divergence_of_single = 0;  ///< with a single
  std::vector<double> tried;        ///< divergences of the mixes in the order they were found
  bool is_single = false;           ///< the guard took the single
};

/// The mix of least divergence that it finds within the budget. First from the units' own costs,
/// which add up; then round after round from divergences measured around the best mix: each unit
/// one option finer and one coarser, everything else as it is, so that what errors do to each other
/// is in them. Fault::user if nothing fits the budget.
Mix find_mix(std::vector<MixUnit> units, const MixSearch& search, const core::ModelProbe& probe);

}  // namespace cupel::quant
