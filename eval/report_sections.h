// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "eval/report.h"

namespace cupel::eval {

/// Parts of a report's page; each is "" when there is nothing to show.

// report_results.cpp
std::string results_section(const std::vector<EvalResult>& results);
std::string pareto_section(const std::vector<EvalResult>& results);
/// File names where they tell the models apart, else paths.
std::vector<std::string> labels_of(const std::vector<EvalResult>& results);
std::string file_name(const std::string& path);

// report_divergence.cpp
std::string divergence_section(const std::vector<EvalResult>& results);

// report_matrices.cpp
std::string matrices_section(const std::vector<MatrixRow>& rows);
std::string curves_section(const std::vector<Curve>& curves);

// report_sections.cpp
std::string tiles_section(const RunReport& report);
std::string alerts_section(const std::vector<std::string>& fallbacks,
                           const std::vector<std::string>& warnings);
std::string samples_section(const std::vector<SamplePair>& samples);
std::string details_section(const RunReport& report);

}  // namespace cupel::eval
