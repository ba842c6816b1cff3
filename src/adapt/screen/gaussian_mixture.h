#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace sotta {

// Mixtures of two Gaussians over a few hundred points of few dimensions. Plain
// loops in double: results depend on nothing but the points, and hundreds of
// tensor operations on so little data would take ten times as long.
constexpr size_t kPointDimensions = 12;
using Point = std::array<double, kPointDimensions>;
using Points = std::vector<Point>;

struct Gaussian {
  Point mean{};
  // Rows of the covariance's Cholesky factor, 0 above the diagonal.
  std::array<Point, kPointDimensions> root{};
  double weight = 0;  // logarithm of its share less that of its volume
};
using Mixture = std::array<Gaussian, 2>;

// A group of fewer points is none.
constexpr size_t kSmallestGroup = 16;

// Per dimension, with n - 1 in the denominator.
Point variances(const Points& points);

// Each point counts by its share in [0, 1]. The covariance's correlations are
// shrunk and `floor` is added to its variances. None if it is not positive
// definite all the same, as where a number is NaN.
std::optional<Gaussian> fit(const Points& points,
                            const std::vector<double>& shares, double floor);

// Logarithm of how likely each point is, up to what all have in common.
std::vector<double> log_likelihood(const Points& points, const Gaussian& of);

// Of each point the logarithm of how much likelier it is in the second Gaussian
// than in the first.
std::vector<double> odds(const Points& points, const Mixture& mixture);

// Expectation and maximisation, begun from each point's share of the second
// Gaussian; none if a group dies out.
std::optional<Mixture> fit_mixture(const Points& points,
                                   std::vector<double> second);

// Distance of the means along the line that tells the groups apart best
// (Fisher's discriminant), in deviations; 0 if a group is too small.
double gap_between(const Points& first, const Points& second);

}  // namespace sotta
