#include "adapt/screen/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sotta {
namespace {

constexpr size_t kSize = kPointDimensions;
constexpr int kRounds = 15;
constexpr double kShrinkage = 0.1;  // of correlations
constexpr double kFloor = 0.02;     // of variances, of their mean
constexpr double kLeastVariance = 1e-9;

// Rows of a lower triangle, of a symmetric matrix or a triangular one; 0 above
// the diagonal.
using Matrix = std::array<Point, kSize>;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double dot(const Point& a, const Point& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Point mean_of(const Points& points, const std::vector<double>& shares) {
  Point mean{};
  for (size_t n = 0; n < points.size(); ++n)
    for (size_t i = 0; i < kSize; ++i)
      mean[i] += shares[n] * points[n][i];
  const double count = sum(shares);
  for (double& value : mean)
    value /= count;
  return mean;
}

// Two rows of the lower triangle of the sum of share * offset * offset^T: as
// much of it as there are registers for.
template <size_t kRow>
void sum_two_rows(const Points& offsets, const std::vector<double>& shares,
                  Matrix& total) {
  double upper[kRow + 2] = {}, lower[kRow + 2] = {};
  for (size_t n = 0; n < offsets.size(); ++n) {
    const Point& offset = offsets[n];
    const double a = shares[n] * offset[kRow];
    const double b = shares[n] * offset[kRow + 1];
    for (size_t j = 0; j < kRow + 2; ++j) {
      upper[j] += a * offset[j];
      lower[j] += b * offset[j];
    }
  }
  std::copy_n(upper, kRow + 1, total[kRow].begin());
  std::copy_n(lower, kRow + 2, total[kRow + 1].begin());
}

// With its correlations shrunk.
Matrix shrunk_covariance(Points points, const std::vector<double>& shares,
                         const Point& mean) {
  for (Point& point : points)
    for (size_t i = 0; i < kSize; ++i)
      point[i] -= mean[i];
  Matrix total{};
  static_assert(kSize == 12);
  sum_two_rows<0>(points, shares, total);
  sum_two_rows<2>(points, shares, total);
  sum_two_rows<4>(points, shares, total);
  sum_two_rows<6>(points, shares, total);
  sum_two_rows<8>(points, shares, total);
  sum_two_rows<10>(points, shares, total);
  const double count = sum(shares);
  for (size_t i = 0; i < kSize; ++i)
    for (size_t j = 0; j <= i; ++j)
      total[i][j] *= (i == j ? 1 : 1 - kShrinkage) / count;
  return total;
}

void add_to_diagonal(double value, Matrix& matrix) {
  for (size_t i = 0; i < kSize; ++i)
    matrix[i][i] += value;
}

// The lower Cholesky factor; none if the matrix is not positive definite.
std::optional<Matrix> cholesky(const Matrix& matrix) {
  Matrix root{};
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (size_t k = 0; k < j; ++k)
        rest -= root[i][k] * root[j][k];
      if (i != j)
        root[i][j] = rest / root[j][j];
      else if (rest > 0)
        root[i][i] = std::sqrt(rest);
      else
        return std::nullopt;
    }
  }
  return root;
}

// Solves root root^T x = b.
Point solve(const Matrix& root, Point b) {
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j < i; ++j)
      b[i] -= root[i][j] * b[j];
    b[i] /= root[i][i];
  }
  for (size_t i = kSize; i-- > 0;) {
    for (size_t j = i + 1; j < kSize; ++j)
      b[i] -= root[j][i] * b[j];
    b[i] /= root[i][i];
  }
  return b;
}

struct Spread {
  Point mean;
  Matrix covariance;
};

Spread spread_of(const Points& points) {
  const std::vector<double> shares(points.size(), 1);
  const Point mean = mean_of(points, shares);
  return {mean, shrunk_covariance(points, shares, mean)};
}

struct Moments {
  double mean, variance;
};

Moments moments_along(const Point& line, const Points& points) {
  std::vector<double> values;
  for (const Point& point : points)
    values.push_back(dot(point, line));
  const auto count = static_cast<double>(values.size());
  const double mean = sum(values) / count;
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return {mean, squares / (count - 1)};
}

}  // namespace

Point variances(const Points& points) {
  const Point mean = mean_of(points, std::vector<double>(points.size(), 1));
  Point found{};
  for (const Point& point : points)
    for (size_t i = 0; i < kSize; ++i)
      found[i] += (point[i] - mean[i]) * (point[i] - mean[i]);
  for (double& value : found)
    value /= static_cast<double>(points.size()) - 1;
  return found;
}

std::optional<Gaussian> fit(const Points& points,
                            const std::vector<double>& shares, double floor) {
  Gaussian found;
  found.mean = mean_of(points, shares);
  Matrix covariance = shrunk_covariance(points, shares, found.mean);
  add_to_diagonal(floor, covariance);
  const std::optional<Matrix> root = cholesky(covariance);
  if (!root) return std::nullopt;
  found.root = *root;
  found.weight = std::log(sum(shares));
  for (size_t i = 0; i < kSize; ++i)
    found.weight -= std::log(found.root[i][i]);
  return found;
}

std::vector<double> log_likelihood(const Points& points, const Gaussian& of) {
  Point scale;
  for (size_t i = 0; i < kSize; ++i)
    scale[i] = 1 / of.root[i][i];
  std::vector<double> found(points.size());
  // Forward substitution of four points at a time, side by side in registers.
  constexpr size_t kLanes = 4;
  for (size_t n = 0; n < points.size(); n += kLanes) {
    const size_t count = std::min(kLanes, points.size() - n);
    double whitened[kSize][kLanes], distance[kLanes] = {};
    for (size_t i = 0; i < kSize; ++i) {
      double rest[kLanes];
      for (size_t lane = 0; lane < kLanes; ++lane)
        rest[lane] = points[n + std::min(lane, count - 1)][i] - of.mean[i];
      for (size_t j = 0; j < i; ++j)
        for (size_t lane = 0; lane < kLanes; ++lane)
          rest[lane] -= of.root[i][j] * whitened[j][lane];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        whitened[i][lane] = rest[lane] * scale[i];
        distance[lane] += whitened[i][lane] * whitened[i][lane];
      }
    }
    for (size_t lane = 0; lane < count; ++lane)
      found[n + lane] = of.weight - 0.5 * distance[lane];
  }
  return found;
}

std::vector<double> odds(const Points& points, const Mixture& mixture) {
  std::vector<double> found = log_likelihood(points, mixture[1]);
  const std::vector<double> first = log_likelihood(points, mixture[0]);
  for (size_t n = 0; n < found.size(); ++n)
    found[n] -= first[n];
  return found;
}

std::optional<Mixture> fit_mixture(const Points& points,
                                   std::vector<double> second) {
  const Point variance = variances(points);
  const double floor =
      kFloor * std::accumulate(variance.begin(), variance.end(), 0.0) / kSize;
  std::vector<double> first(second.size());
  Mixture mixture;
  for (int round = 0; round < kRounds; ++round) {
    const double count = sum(second);
    const double others = static_cast<double>(second.size()) - count;
    if (std::min(count, others) < kSmallestGroup / 2) return std::nullopt;
    for (size_t n = 0; n < second.size(); ++n)
      first[n] = 1 - second[n];
    const std::optional<Gaussian> a = fit(points, first, floor);
    const std::optional<Gaussian> b = fit(points, second, floor);
    if (!a || !b) return std::nullopt;
    mixture = {*a, *b};
    second = odds(points, mixture);
    for (double& share : second)
      share = 1 / (1 + std::exp(-share));
  }
  return mixture;
}

double gap_between(const Points& first, const Points& second) {
  if (std::min(first.size(), second.size()) < kSmallestGroup) return 0;
  const Spread a = spread_of(first), b = spread_of(second);
  Matrix both{};
  Point apart;
  for (size_t i = 0; i < kSize; ++i) {
    apart[i] = b.mean[i] - a.mean[i];
    for (size_t j = 0; j <= i; ++j)
      both[i][j] = (a.covariance[i][j] + b.covariance[i][j]) / 2;
  }
  add_to_diagonal(kLeastVariance, both);
  const std::optional<Matrix> root = cholesky(both);
  if (!root) return 0;
  const Point line = solve(*root, apart);
  const Moments one = moments_along(line, first);
  const Moments other = moments_along(line, second);
  return std::abs(other.mean - one.mean) /
         std::sqrt((one.variance + other.variance) / 2);
}

}  // namespace sotta
