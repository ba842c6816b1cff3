#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "engine/buffer.h"
#include "engine/crew.h"
#include "engine/planes.h"
#include "engine/simd_target.h"

namespace sotta::engine {

inline Planes planes_of(const at::Tensor& tensor) {
  return {tensor.size(0), tensor.size(1), tensor.size(2), tensor.size(3)};
}

// A tensor [N, C, H, W] as the kernels keep it, and back.
inline FloatBuffer to_blocked(const at::Tensor& tensor) {
  const Planes planes = planes_of(tensor);
  FloatBuffer blocked(planes.size());
  std::fill_n(blocked.data(), blocked.size(), 0.0F);
  const auto from = tensor.contiguous();
  const float* value = from.data_ptr<float>();
  for (int64_t n = 0; n < planes.images; ++n)
    for (int64_t c = 0; c < planes.channels; ++c)
      for (int64_t i = 0; i < planes.height * planes.width; ++i)
        blocked.data()[n * planes.image() + c / kBlock * planes.plane() +
                       i * kBlock + c % kBlock] = *value++;
  return blocked;
}

inline at::Tensor from_blocked(const FloatBuffer& blocked,
                               const Planes& planes) {
  at::Tensor tensor =
      at::empty({planes.images, planes.channels, planes.height, planes.width});
  float* value = tensor.data_ptr<float>();
  for (int64_t n = 0; n < planes.images; ++n)
    for (int64_t c = 0; c < planes.channels; ++c)
      for (int64_t i = 0; i < planes.height * planes.width; ++i)
        *value++ =
            blocked.data()[n * planes.image() + c / kBlock * planes.plane() +
                           i * kBlock + c % kBlock];
  return tensor;
}

inline FloatBuffer to_buffer(const at::Tensor& vector) {
  FloatBuffer buffer(vector.numel());
  std::copy_n(vector.contiguous().data_ptr<float>(), vector.numel(),
              buffer.data());
  return buffer;
}

// A convolution as its definition says, in double.
inline at::Tensor naive_conv(const at::Tensor& images,
                             const at::Tensor& weights, int64_t stride) {
  const int64_t pad = (weights.size(2) - 1) / 2, kernel = weights.size(2);
  const int64_t height = (images.size(2) + 2 * pad - kernel) / stride + 1;
  const int64_t width = (images.size(3) + 2 * pad - kernel) / stride + 1;
  at::Tensor result =
      at::zeros({images.size(0), weights.size(0), height, width});
  const auto in = images.accessor<float, 4>();
  const auto w = weights.accessor<float, 4>();
  auto out = result.accessor<float, 4>();
  for (int64_t n = 0; n < images.size(0); ++n)
    for (int64_t o = 0; o < weights.size(0); ++o)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
          double sum = 0;
          for (int64_t c = 0; c < images.size(1); ++c)
            for (int64_t i = 0; i < kernel; ++i)
              for (int64_t j = 0; j < kernel; ++j) {
                const int64_t row = y * stride + i - pad;
                const int64_t column = x * stride + j - pad;
                if (row >= 0 && row < images.size(2) && column >= 0 &&
                    column < images.size(3))
                  sum += static_cast<double>(in[n][c][row][column]) *
                         static_cast<double>(w[o][c][i][j]);
              }
          out[n][o][y][x] = static_cast<float>(sum);
        }
  return result;
}

// The gradient of a convolution's input by its definition: every output's
// gradient goes to the inputs it was made from.
inline at::Tensor naive_backward(const at::Tensor& gradient,
                                 const at::Tensor& weights, int64_t stride,
                                 const Planes& input) {
  at::Tensor result =
      at::zeros({input.images, input.channels, input.height, input.width});
  const int64_t kernel = weights.size(2), pad = (kernel - 1) / 2;
  const auto g = gradient.accessor<float, 4>();
  const auto w = weights.accessor<float, 4>();
  auto out = result.accessor<float, 4>();
  for (int64_t n = 0; n < input.images; ++n)
    for (int64_t o = 0; o < weights.size(0); ++o)
      for (int64_t y = 0; y < gradient.size(2); ++y)
        for (int64_t x = 0; x < gradient.size(3); ++x)
          for (int64_t c = 0; c < input.channels; ++c)
            for (int64_t t = 0; t < kernel * kernel; ++t) {
              const int64_t row = y * stride + t / kernel - pad;
              const int64_t column = x * stride + t % kernel - pad;
              if (row >= 0 && row < input.height && column >= 0 &&
                  column < input.width)
                out[n][c][row][column] +=
                    g[n][o][y][x] * w[o][c][t / kernel][t % kernel];
            }
  return result;
}

inline void expect_close(const at::Tensor& found, const at::Tensor& expected,
                         double tolerance = 1e-5) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  const double scale = std::max(1e-3, expected.abs().max().item<double>());
  EXPECT_LE((found - expected).abs().max().item<double>(), tolerance * scale);
}

// Workers with their memory.
struct CrewOfWorkers {
  explicit CrewOfWorkers(int64_t threads)
      : workers(static_cast<size_t>(threads)) {
    crew = {&pool, threads, workers.data(), &shared, &packed};
  }

  WorkerPool pool;
  std::vector<WorkerScratch> workers;
  WorkerScratch shared;
  FloatBuffer packed;
  Crew crew;
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
