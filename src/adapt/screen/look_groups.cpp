#include "adapt/screen/look_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <ATen/ops/tensor.h>

#include "adapt/screen/gaussian_mixture.h"
#include "adapt/screen/symmetric_eigen.h"

namespace sotta {
namespace {

constexpr size_t kBeginnings = 5;  // components that a parting begins from
constexpr double kFarthest = 6;    // deviations that count
constexpr double kLeastDeviation = 0.02;
constexpr double kLeastVariance = 1e-9;  // below it all look the same

// Rows of numbers, one after the other.
struct Table {
  size_t rows, columns;
  std::vector<double> values;

  double* row(size_t at) { return values.data() + at * columns; }
  const double* row(size_t at) const { return values.data() + at * columns; }
};

std::vector<double> doubles_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  const auto* begin = values.data_ptr<double>();
  return {begin, begin + values.numel()};
}

Table table_of(const at::Tensor& looks) {
  return {static_cast<size_t>(looks.size(0)),
          static_cast<size_t>(looks.size(1)), doubles_of(looks)};
}

// The lower one of two in the middle.
double median(std::vector<double>& values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Medians and deviations of the looks, and their principal components.
struct Plane {
  std::vector<double> centre, deviation;  // [D]
  std::vector<double> mean;               // [D], of what was cut off
  std::vector<Point> components;          // [D]

  // In deviations from the centre, cut off; NaN stays NaN.
  Table standard(const Table& looks) const;
  Points place(const Table& looks) const;
};

Table Plane::standard(const Table& looks) const {
  Table found = looks;
  for (size_t n = 0; n < looks.rows; ++n) {
    double* row = found.row(n);
    for (size_t j = 0; j < looks.columns; ++j) {
      const double value = (row[j] - centre[j]) / deviation[j];
      row[j] = std::max(std::min(value, kFarthest), -kFarthest);
    }
  }
  return found;
}

Points Plane::place(const Table& looks) const {
  const Table values = standard(looks);
  Points points(looks.rows, Point{});
  for (size_t n = 0; n < looks.rows; ++n) {
    Point point{};
    for (size_t j = 0; j < looks.columns; ++j) {
      const double offset = values.row(n)[j] - mean[j];
      for (size_t i = 0; i < kPointDimensions; ++i)
        point[i] += offset * components[j][i];
    }
    points[n] = point;
  }
  return points;
}

// The principal components of deviations from the mean, [D] of each, widest
// first.
std::vector<Point> principal_components(const Table& offsets) {
  const size_t size = offsets.columns;
  std::vector<double> covariance(size * size, 0);
  for (size_t n = 0; n < offsets.rows; ++n) {
    const double* offset = offsets.row(n);
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j)
        covariance[i * size + j] += offset[i] * offset[j];
  }
  for (double& value : covariance)
    value /= static_cast<double>(offsets.rows);
  const SymmetricEigen eigen = eigen_of(std::move(covariance), size);
  std::vector<Point> components(size);
  for (size_t j = 0; j < size; ++j)
    for (size_t i = 0; i < kPointDimensions; ++i)
      components[j][i] = eigen.vectors[i * size + j];
  return components;
}

// None where half of a column is not finite.
std::optional<Plane> principal_plane(const Table& looks) {
  Plane plane;
  std::vector<double> column(looks.rows);
  for (size_t j = 0; j < looks.columns; ++j) {
    for (size_t n = 0; n < looks.rows; ++n)
      column[n] = looks.row(n)[j];
    const double centre = median(column);
    if (!std::isfinite(centre)) return std::nullopt;
    for (double& value : column)
      value = std::abs(value - centre);
    plane.centre.push_back(centre);
    plane.deviation.push_back(1.4826 * median(column) + kLeastDeviation);
    if (!std::isfinite(plane.deviation[j])) return std::nullopt;
  }
  plane.mean.assign(looks.columns, 0);
  Table offsets = plane.standard(looks);
  for (size_t n = 0; n < looks.rows; ++n)
    for (size_t j = 0; j < looks.columns; ++j)
      plane.mean[j] += offsets.row(n)[j];
  for (double& value : plane.mean)
    value /= static_cast<double>(looks.rows);
  for (size_t n = 0; n < looks.rows; ++n)
    for (size_t j = 0; j < looks.columns; ++j)
      offsets.row(n)[j] -= plane.mean[j];
  plane.components = principal_components(offsets);
  return plane;
}

// 1 for points above the place along a component that leaves least spread on
// both sides of it, 0 for others.
std::vector<double> above_best_cut(const Points& points, size_t component) {
  std::vector<double> sorted;
  for (const Point& point : points)
    sorted.push_back(point[component]);
  std::sort(sorted.begin(), sorted.end());
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const size_t count = sorted.size();
  double below = 0, best = -1, cut = sorted[0];
  for (size_t i = 0; i + 1 < count; ++i) {
    below += sorted[i];
    const auto n = static_cast<double>(i + 1);
    const double m = static_cast<double>(count) - n;
    const double apart = below / n - (total - below) / m;
    if (n * m * apart * apart <= best) continue;
    best = n * m * apart * apart;
    cut = sorted[i];
  }
  std::vector<double> above;
  for (const Point& point : points)
    above.push_back(point[component] > cut ? 1 : 0);
  return above;
}

// 1 for the quarter of the points that is furthest out in any direction, 0 for
// others.
std::vector<double> outlying(const Points& points) {
  const Point variance = variances(points);
  std::vector<double> distances;
  for (const Point& point : points) {
    double distance = 0;
    for (size_t i = 0; i < kPointDimensions; ++i)
      if (variance[i] >= kLeastVariance)
        distance += point[i] * point[i] / variance[i];
    distances.push_back(distance);
  }
  std::vector<double> sorted = distances;
  const auto quarter =
      sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 3 / 4);
  std::nth_element(sorted.begin(), quarter, sorted.end());
  for (double& distance : distances)
    distance = distance > *quarter ? 1 : 0;
  return distances;
}

double gap_of(const Points& points, const Mixture& mixture) {
  const std::vector<double> likelier = odds(points, mixture);
  Points first, second;
  for (size_t n = 0; n < points.size(); ++n)
    (likelier[n] > 0 ? second : first).push_back(points[n]);
  return gap_between(first, second);
}

constexpr size_t kPackedGaussian =
    kPointDimensions + kPointDimensions * kPointDimensions + 1;

at::Tensor pack(const Plane& plane, const Mixture& mixture) {
  std::vector<double> all;
  const auto put = [&](const auto& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  put(plane.centre);
  put(plane.deviation);
  put(plane.mean);
  for (const Point& row : plane.components)
    put(row);
  for (const Gaussian& one : mixture) {
    put(one.mean);
    for (const Point& row : one.root)
      put(row);
    all.push_back(one.weight);
  }
  return at::tensor(all, at::kFloat);
}

std::pair<Plane, Mixture> unpack(const at::Tensor& packed) {
  const std::vector<double> all = doubles_of(packed);
  const size_t looks =
      (all.size() - 2 * kPackedGaussian) / (3 + kPointDimensions);
  auto at = all.begin();
  const auto take = [&](auto& values) {
    std::copy_n(at, values.size(), values.begin());
    at += static_cast<std::ptrdiff_t>(values.size());
  };
  Plane plane;
  for (auto* values : {&plane.centre, &plane.deviation, &plane.mean}) {
    values->resize(looks);
    take(*values);
  }
  plane.components.resize(looks);
  for (Point& row : plane.components)
    take(row);
  Mixture mixture;
  for (Gaussian& one : mixture) {
    take(one.mean);
    for (Point& row : one.root)
      take(row);
    one.weight = *at++;
  }
  return {std::move(plane), mixture};
}

}  // namespace

LookGroups LookGroups::part(const at::Tensor& looks) {
  LookGroups found;
  const Table table = table_of(looks);
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(table.values.begin(), table.values.end(), is_nan))
    return found;
  const std::optional<Plane> plane = principal_plane(table);
  if (!plane) return found;
  const Points points = plane->place(table);
  const Point variance = variances(points);
  if (std::accumulate(variance.begin(), variance.end(), 0.0) <
      kLeastVariance * kPointDimensions)
    return found;
  for (size_t begin = 0; begin <= kBeginnings; ++begin) {
    const auto mixture =
        fit_mixture(points, begin < kBeginnings ? above_best_cut(points, begin)
                                                : outlying(points));
    if (!mixture) continue;
    const double gap = gap_of(points, *mixture);
    if (!(gap > found.gap_)) continue;  // nor NaN
    found.gap_ = gap;
    found.packed_ = pack(*plane, *mixture);
  }
  return found;
}

std::vector<int> LookGroups::group_of(const at::Tensor& looks) const {
  std::vector<int> groups;
  for (const float odds : odds_of_second(looks))
    groups.push_back(odds > 0 ? 1 : 0);
  return groups;
}

std::vector<float> LookGroups::odds_of_second(const at::Tensor& looks) const {
  const auto [plane, mixture] = unpack(packed_);
  const std::vector<double> found = odds(plane.place(table_of(looks)), mixture);
  return {found.begin(), found.end()};
}

LookGroups LookGroups::unpacked(const at::Tensor& packed) {
  LookGroups found;
  found.packed_ = packed;
  return found;
}

int64_t LookGroups::packed_size(int64_t looks) {
  return looks * static_cast<int64_t>(3 + kPointDimensions) +
         static_cast<int64_t>(2 * kPackedGaussian);
}

}  // namespace sotta
