// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/gradients.h"
#include "core/pipeline/quantize.h"
#include "core/planner.h"

namespace cupel::core {

/// The matrices of one input group that fall to one step.
struct SurveyGroup {
  std::size_t step;
  format::WeightId first;  ///< of the input group
  std::vector<format::WeightId> weights;
};

/// Shows the original model to the planners of the steps that have one and returns each step's plan
/// ("" without one). A quarter of the samples, at least one, is held out for the probe; the
/// statistics are those of the others. `gradients` may be null.
std::vector<std::string> survey(const QuantizeJob& job, const std::vector<SurveyGroup>& groups,
                                const Gradients* gradients);

}  // namespace cupel::core
