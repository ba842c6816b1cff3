#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/buffer.h"
#include "engine/cpu/kernel_context.h"
#include "engine/cpu/simd_target.h"

// What the kernels' tests need, without LibTorch: they also run on processors
// for which there is none.
namespace sotta::engine {

struct Place {
  int64_t n, c, y, x;
};

// Numbers [N][C][H][W].
class Array {
 public:
  explicit Array(const ActivationShape& sizes)
      : sizes_(sizes),
        values_(static_cast<size_t>(sizes.images * sizes.channels *
                                    sizes.height * sizes.width)) {}

  const ActivationShape& sizes() const { return sizes_; }
  std::vector<float>& values() { return values_; }
  const float* data() const { return values_.data(); }

  float& operator[](const Place& at) { return values_[index(at)]; }
  float operator[](const Place& at) const { return values_[index(at)]; }

  // Zero outside.
  float padded(const Place& at) const {
    const bool inside =
        at.y >= 0 && at.y < sizes_.height && at.x >= 0 && at.x < sizes_.width;
    return inside ? (*this)[at] : 0;
  }

 private:
  size_t index(const Place& at) const {
    return static_cast<size_t>(
        ((at.n * sizes_.channels + at.c) * sizes_.height + at.y) *
            sizes_.width +
        at.x);
  }

  ActivationShape sizes_;
  std::vector<float> values_;
};

template <class Action>
void for_every_place(const ActivationShape& sizes, const Action& action) {
  for (int64_t n = 0; n < sizes.images; ++n)
    for (int64_t c = 0; c < sizes.channels; ++c)
      for (int64_t y = 0; y < sizes.height; ++y)
        for (int64_t x = 0; x < sizes.width; ++x)
          action(Place{n, c, y, x});
}

// value(place) at every place.
template <class Value>
Array make_array(const ActivationShape& sizes, const Value& value) {
  Array array(sizes);
  for_every_place(sizes, [&](const Place& at) { array[at] = value(at); });
  return array;
}

inline Array random_array(const ActivationShape& sizes, uint64_t seed) {
  Rng rng(seed);
  return make_array(
      sizes, [&](const Place&) { return static_cast<float>(rng.normal()); });
}

inline FloatBuffer random_vector(int64_t size, uint64_t seed) {
  FloatBuffer vector(size);
  Rng rng(seed);
  for (int64_t i = 0; i < size; ++i)
    vector.data()[i] = static_cast<float>(rng.normal());
  return vector;
}

inline int64_t blocked_offset(const ActivationShape& shape, const Place& at) {
  return at.n * shape.image_size() + at.c / kChannelBlock * shape.plane_size() +
         (at.y * shape.width + at.x) * kChannelBlock + at.c % kChannelBlock;
}

// An array as the kernels keep it, and back.
inline FloatBuffer to_blocked(const Array& array) {
  FloatBuffer blocked(array.sizes().size());
  std::fill_n(blocked.data(), blocked.size(), 0.0F);
  for_every_place(array.sizes(), [&](const Place& at) {
    blocked.data()[blocked_offset(array.sizes(), at)] = array[at];
  });
  return blocked;
}

inline Array from_blocked(const FloatBuffer& blocked,
                          const ActivationShape& shape) {
  return make_array(shape, [&](const Place& at) {
    return blocked.data()[blocked_offset(shape, at)];
  });
}

// A convolution as its definition says, in double. Weights
// [outputs][inputs][kernel][kernel].
inline Array naive_conv(const Array& images, const Array& weights,
                        int64_t stride) {
  const int64_t kernel = weights.sizes().height, pad = (kernel - 1) / 2;
  ActivationShape sizes = images.sizes();
  sizes.channels = weights.sizes().images;
  sizes.height = (sizes.height + 2 * pad - kernel) / stride + 1;
  sizes.width = (sizes.width + 2 * pad - kernel) / stride + 1;
  return make_array(sizes, [&](const Place& at) {
    double sum = 0;
    for (int64_t c = 0; c < images.sizes().channels; ++c)
      for (int64_t i = 0; i < kernel; ++i)
        for (int64_t j = 0; j < kernel; ++j)
          sum += static_cast<double>(
                     images.padded({at.n, c, at.y * stride + i - pad,
                                    at.x * stride + j - pad})) *
                 static_cast<double>(weights[{at.c, c, i, j}]);
    return static_cast<float>(sum);
  });
}

// The gradient of a convolution's input by its definition: every output's
// gradient goes to the inputs it was made from. Added to `result`.
inline void add_naive_backward(const Array& gradient, const Array& weights,
                               int64_t stride, Array& result) {
  const ActivationShape& input = result.sizes();
  const int64_t kernel = weights.sizes().height, pad = (kernel - 1) / 2;
  for_every_place(gradient.sizes(), [&](const Place& at) {
    for (int64_t c = 0; c < input.channels; ++c)
      for (int64_t i = 0; i < kernel; ++i)
        for (int64_t j = 0; j < kernel; ++j) {
          const int64_t row = at.y * stride + i - pad;
          const int64_t column = at.x * stride + j - pad;
          if (row >= 0 && row < input.height && column >= 0 &&
              column < input.width)
            result[{at.n, c, row, column}] +=
                gradient[at] * weights[{at.c, c, i, j}];
        }
  });
}

// Differences relative to the largest number.
inline void expect_close(const Array& found, const Array& expected,
                         float tolerance = 1e-5F) {
  float scale = 1e-3F;
  for_every_place(expected.sizes(), [&](const Place& at) {
    scale = std::max(scale, std::abs(expected[at]));
  });
  int64_t off = 0;
  for_every_place(expected.sizes(), [&](const Place& at) {
    const bool near = std::abs(found[at] - expected[at]) <= tolerance * scale;
    if (!near) ++off;  // NaN is not
  });
  EXPECT_EQ(off, 0) << "numbers differ";
}

// Workers with their memory.
struct TestWorkers {
  explicit TestWorkers(int64_t threads)
      : workers(static_cast<size_t>(threads)) {
    context = {&pool, threads, workers.data(), &shared, &packed};
  }

  WorkerPool pool;
  std::vector<WorkerScratch> workers;
  ScratchBuffer shared, packed;
  KernelContext context;
};

// Runs a test with every kind of vector instructions there is.
inline void for_every_target(const std::function<void()>& test) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    use_simd_target(target);
    test();
  }
  use_best_simd_target();
}

}  // namespace sotta::engine
