#include "corrupt/filters/edges.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>

#include "corrupt/filters/border.h"

namespace sotta {
namespace {

// Lengths of the steps in units of 2^-16 pixel.
constexpr int64_t kStraightStep = 65536;
constexpr int64_t kDiagonalStep = 91750;
constexpr int64_t kKnightStep = 143976;

// Of 2^15: the tangent of 22.5 degrees, which parts the four directions.
constexpr int64_t kTangent = 13573;

// Rounds between two looks whether anything still changes: a look makes the
// host wait for a GPU.
constexpr int64_t kRoundsPerLook = 4;

// What stands (dy, dx) from each pixel, of pictures widened by `margin`.
at::Tensor neighbour(const at::Tensor& widened, int64_t margin, int64_t dy,
                     int64_t dx) {
  const int64_t height = widened.size(1) - 2 * margin;
  const int64_t width = widened.size(2) - 2 * margin;
  return widened.narrow(1, margin + dy, height).narrow(2, margin + dx, width);
}

at::Tensor widen(const at::Tensor& pictures, int64_t margin, int64_t value) {
  return at::constant_pad_nd(pictures, {margin, margin, margin, margin}, value);
}

struct Gradient {
  at::Tensor x;
  at::Tensor y;
};

Gradient sobel(const at::Tensor& pictures) {
  const at::Tensor wide =
      extend(extend(pictures, 1, 1, Border::kNearest), 2, 1, Border::kNearest);
  const auto pixel = [&](int64_t dy, int64_t dx) {
    return neighbour(wide, 1, dy, dx);
  };
  return {pixel(-1, 1) + pixel(0, 1) * 2 + pixel(1, 1) - pixel(-1, -1) -
              pixel(0, -1) * 2 - pixel(1, -1),
          pixel(1, -1) + pixel(1, 0) * 2 + pixel(1, 1) - pixel(-1, -1) -
              pixel(-1, 0) * 2 - pixel(-1, 1)};
}

// Where the gradient is largest along its own direction.
at::Tensor ridges(const Gradient& gradient, const at::Tensor& strength) {
  const at::Tensor wide = widen(strength, 1, 0);
  const auto above = [&](int64_t dy, int64_t dx) {
    return strength > neighbour(wide, 1, dy, dx);
  };
  const auto not_below = [&](int64_t dy, int64_t dx) {
    return strength >= neighbour(wide, 1, dy, dx);
  };
  const at::Tensor across = gradient.x.abs();
  const at::Tensor down = gradient.y.abs() * 32768;
  const at::Tensor flat = across * kTangent;
  const at::Tensor steep = flat + across * 65536;

  const at::Tensor diagonal = at::where(gradient.x * gradient.y >= 0,
                                        above(-1, -1).logical_and(above(1, 1)),
                                        above(-1, 1).logical_and(above(1, -1)));
  return at::where(
      down < flat, above(0, -1).logical_and(not_below(0, 1)),
      at::where(down > steep, above(-1, 0).logical_and(not_below(1, 0)),
                diagonal));
}

// Repeats next(state) until it changes nothing.
template <class Next>
at::Tensor until_stable(at::Tensor state, const Next& next) {
  while (true) {
    const at::Tensor before = state;
    for (int64_t round = 0; round < kRoundsPerLook; ++round)
      state = next(state);
    if (state.equal(before)) return state;
  }
}

at::Tensor least(const at::Tensor& widened,
                 const std::vector<std::pair<int64_t, int64_t>>& steps,
                 int64_t length) {
  at::Tensor result;
  for (const auto& step : steps) {
    const at::Tensor there = neighbour(widened, 2, step.first, step.second);
    result = result.defined() ? at::minimum(result, there) : there;
  }
  return result + length;
}

}  // namespace

at::Tensor canny_edges(const at::Tensor& pictures, int64_t low, int64_t high) {
  const Gradient gradient = sobel(pictures);
  const at::Tensor strength = gradient.x.abs() + gradient.y.abs();
  const at::Tensor candidates =
      ridges(gradient, strength).logical_and_(strength > low);
  const at::Tensor allowed = candidates.to(at::kFloat);
  const at::Tensor strong =
      candidates.logical_and(strength > high).to(at::kFloat);
  // Candidates that touch an edge are edges.
  const auto grow = [&](const at::Tensor& edges) {
    return at::max_pool2d(edges, {3, 3}, {1, 1}, {1, 1}).mul_(allowed);
  };
  return until_stable(strong, grow).to(at::kBool);
}

at::Tensor chamfer_distance(const at::Tensor& edges, int64_t limit) {
  const at::Tensor start = edges.logical_not().to(at::kInt).mul_(limit);
  return until_stable(start, [&](const at::Tensor& distance) {
    const at::Tensor wide = widen(distance, 2, limit);
    const at::Tensor straight =
        least(wide, {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}, kStraightStep);
    const at::Tensor diagonal =
        least(wide, {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}}, kDiagonalStep);
    const at::Tensor knight = least(wide,
                                    {{-1, -2},
                                     {-1, 2},
                                     {1, -2},
                                     {1, 2},
                                     {-2, -1},
                                     {-2, 1},
                                     {2, -1},
                                     {2, 1}},
                                    kKnightStep);
    return at::minimum(at::minimum(distance, straight),
                       at::minimum(diagonal, knight));
  });
}

}  // namespace sotta
