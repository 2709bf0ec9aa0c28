// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

namespace cupel::eval {

/// Special functions behind the distributions, in float64, relative error below 1e-12.

/// Regularised incomplete beta function I_x(a, b) for a, b > 0; `y` is 1 - x, given apart so that
/// an x near 1 loses nothing. Continued fraction by Lentz's method.
double incomplete_beta(double a, double b, double x, double y);
/// The x in [0, 1] with I_x(a, b) = p.
double incomplete_beta_inverse(double a, double b, double p);
/// Regularised upper incomplete gamma function Q(a, x) for a > 0, x >= 0.
double incomplete_gamma_upper(double a, double x);

}  // namespace cupel::eval
