#include "report/tables/statistics.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace sotta {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The regularised incomplete beta function I_x(a, b) by its continued fraction
// (Lentz's method), which converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 / (1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d + kTiny);
    c = 1 + even / c;
    fraction *= d * c;
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d + kTiny);
    c = 1 + odd / c;
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
               a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

// P(T < t) for t >= 0.
double student_cdf(double t, double freedom) {
  const double x = freedom / (freedom + t * t);
  return 1 - 0.5 * incomplete_beta(x, freedom / 2, 0.5);
}

}  // namespace

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double sample_std(const std::vector<double>& values) {
  if (values.size() < 2) return kNaN;
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double student_quantile(double p, double freedom) {
  if (!(p > 0.5 && p < 1 && freedom > 0)) return kNaN;
  double low = 0;
  double high = 1;
  while (student_cdf(high, freedom) < p && high < 1e12)
    high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (student_cdf(middle, freedom) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace sotta
