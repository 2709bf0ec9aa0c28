// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>
#include <vector>

namespace cupel::eval {

/// Adjusted p values of several tests, in the order given: a test is significant at level e in the
/// sense of the procedure when its adjusted value is at most e. A value outside [0, 1] is an
/// internal error.

/// Holm (1979): one false alarm among all tests with probability e at most, however they depend.
std::vector<double> holm(std::span<const double> p);
/// Hochberg (1988): as Holm, for tests that are independent or positively dependent.
std::vector<double> hochberg(std::span<const double> p);
/// Benjamini and Hochberg (1995): share of false alarms among the alarms, on average.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace cupel::eval
