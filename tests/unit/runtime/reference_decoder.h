// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "tiny_model.h"

namespace cupel::runtime {

/// The decoder in double precision, written from the families' definitions and not from the
/// runtime: logits [position][vocab] of a sequence that is evaluated at once.
std::vector<std::vector<double>> reference_logits(const TinyModel& model,
                                                  const std::vector<text::Token>& ids);

}  // namespace cupel::runtime
