#include "nn/channel_statistics.h"

#include "nn/parallel_loop.h"

namespace sotta {
namespace {

// Enough independent sums to fill any vector unit.
constexpr int64_t kLanes = 32;

// The mean of term(value) over a plane.
template <class Term>
double plane_mean(const float* values, int64_t count, const Term& term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k)
      lanes[k] += term(values[i + k]);
  double sum = 0;
  for (; i < count; ++i)
    sum += term(values[i]);
  for (const float lane : lanes)
    sum += lane;
  return sum / static_cast<double>(count);
}

Moments plane_moments(const float* values, int64_t count) {
  const double mean = plane_mean(values, count, [](float x) { return x; });
  const auto centre = static_cast<float>(mean);
  const double spread = plane_mean(
      values, count, [centre](float x) { return (x - centre) * (x - centre); });
  return {mean, spread - (mean - centre) * (mean - centre)};
}

// Planes have equal sizes: the mean is the mean of their means, the variance
// the mean of their variances and of their means' squared distances from it.
Moments join(const std::vector<Moments>& of_planes, const Planes& planes,
             int64_t channel) {
  Moments all;
  const auto each = [&](const auto& add) {
    for (int64_t p = channel; p < planes.count(); p += planes.channels)
      add(of_planes[static_cast<size_t>(p)]);
  };
  const auto images = static_cast<double>(planes.images);
  each([&](const Moments& plane) { all.mean += plane.mean / images; });
  each([&](const Moments& plane) {
    const double distance = plane.mean - all.mean;
    all.var += (plane.var + distance * distance) / images;
  });
  return all;
}

}  // namespace

std::vector<Moments> channel_moments(const float* values,
                                     const Planes& planes) {
  std::vector<Moments> of_planes(static_cast<size_t>(planes.count()));
  parallel_loop(planes.count(), [&](int64_t p) {
    of_planes[static_cast<size_t>(p)] =
        plane_moments(values + p * planes.size, planes.size);
  });
  std::vector<Moments> of_channels;
  for (int64_t c = 0; c < planes.channels; ++c)
    of_channels.push_back(join(of_planes, planes, c));
  return of_channels;
}

}  // namespace sotta
