#pragma once

#include <vector>

namespace sotta {

// All give NaN where they are not defined.

double mean(const std::vector<double>& values);

// The sample's standard deviation, with n - 1; needs two values.
double sample_std(const std::vector<double>& values);

// The t that a Student variable with `freedom` degrees of freedom stays under
// with probability `p`, 0.5 < p < 1.
double student_quantile(double p, double freedom);

}  // namespace sotta
