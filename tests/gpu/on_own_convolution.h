#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "gpu/device_queue.h"
#include "nn/conv_norm.h"
#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"
#include "tests/gpu/own_convolution.h"

namespace sotta::testing {

struct ConvShape {
  int64_t images, side, from, to;  // the input's side
  int64_t lanes = 1;
  int64_t kernel = 3, stride = 1;
};

// Convolutions with a norm layer behind them, for GPUs that have our own
// convolution; what they give in float64 on the CPU.
class OnOwnConvolution : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && !has_own_convolution(gpu))
      GTEST_SKIP() << "not a GPU of compute capability 9.0, or a build "
                      "without kernels for it";
  }

  struct Layer {
    at::Tensor input, residual, kernels;
    PackedKernels packed;
    NormVectors vectors;  // [C], or [lanes, C]
    int64_t stride, padding;

    PackedLayer shape() const { return {packed, stride, padding}; }
    at::Tensor convolved() const {
      return convolution(input, kernels, stride, padding, packed);
    }
  };

  at::Tensor drawn(at::IntArrayRef shape, uint64_t seed) const {
    Rng rng(seed);
    return random_normal(rng, shape).to(gpu);
  }
  at::Tensor images(at::IntArrayRef shape, uint64_t seed,
                    at::ScalarType type) const {
    return drawn(shape, seed)
        .to(type)
        .contiguous(at::MemoryFormat::ChannelsLast);
  }

  // Variances are about those of the sums, so that nothing is drowned.
  Layer layer_of(const ConvShape& shape, at::ScalarType type) const {
    Layer layer;
    const auto [count, side, from, to, lanes, kernel, stride] = shape;
    layer.input = images({count, from, side, side}, 1, type);
    layer.residual = images({count, to, side / stride, side / stride}, 2, type);
    layer.kernels = images({to, from, kernel, kernel}, 3, type);
    layer.packed = packed_kernels(layer.kernels, stride);
    layer.stride = stride;
    layer.padding = kernel / 2;
    const auto vector = [&, n = lanes, c = to](uint64_t seed) {
      return n == 1 ? drawn({c}, seed) : drawn({n, c}, seed);
    };
    const auto products = static_cast<double>(kernel * kernel * from);
    layer.vectors = {vector(4),
                     vector(5),
                     vector(6) * std::sqrt(products),
                     (vector(7).square() + 0.5) * products,
                     {},
                     {}};
    return layer;
  }

  // A vector's numbers for every image of a lane: [N or 1, C, 1, 1].
  static at::Tensor per_image(const at::Tensor& vector, int64_t images) {
    const at::Tensor exact = vector.detach().cpu().to(at::kDouble);
    if (exact.dim() == 1) return exact.view({1, -1, 1, 1});
    return exact.repeat_interleave(images / exact.size(0), 0)
        .view({images, -1, 1, 1});
  }

  static at::Tensor exact_norm(const Layer& layer, const at::Tensor& sums,
                               const AfterNorm& after) {
    const auto vector = [&](const at::Tensor& values) {
      return per_image(values, sums.size(0));
    };
    const NormVectors& vectors = layer.vectors;
    at::Tensor output =
        (sums - vector(vectors.running_mean)) /
            (vector(vectors.running_var) + kNormEpsilon).sqrt() *
            vector(vectors.scale) +
        vector(vectors.shift);
    if (after.residual.defined())
      output = output + after.residual.cpu().to(at::kDouble);
    return after.relu ? output.relu() : output;
  }

  static at::Tensor exact_sums(const Layer& layer) {
    return at::conv2d(layer.input.cpu().to(at::kDouble),
                      layer.kernels.cpu().to(at::kDouble), {}, layer.stride,
                      layer.padding);
  }

  static double difference(const at::Tensor& found,
                           const at::Tensor& expected) {
    return ((found.cpu().to(at::kDouble) - expected.cpu().to(at::kDouble))
                .abs()
                .max() /
            expected.abs().max().cpu().to(at::kDouble))
        .item<double>();
  }

  // `through` gives a layer's output of an input, and of a residual or none. In
  // a chain of them each begins while the one before it ends, which its input
  // and the residual come from; memory is used again.
  template <class Through>
  static void expect_each_waits_for_the_one_before(const at::Tensor& first,
                                                   const Through& through) {
    const at::Tensor zeros = at::zeros_like(first);
    const auto chain = [&](bool shared) {
      const SharedDevice others(shared);  // with it, all start as usual
      // Something to do until the whole chain is in the queue.
      for (int i = 0; i < 50; ++i)
        through(zeros, AfterNorm{});
      at::Tensor images = first;
      for (int i = 0; i < 25; ++i)
        images = through(through(images, AfterNorm{}), AfterNorm{images});
      return images;
    };
    const at::Tensor expected = chain(true);
    EXPECT_TRUE(expected.isfinite().all().item<bool>());
    EXPECT_GT(expected.max().item<float>(), 0);
    for (int again = 0; again < 3; ++again)
      EXPECT_TRUE(chain(false).equal(expected));
  }

  // All ways to cut tiles: part of an image, whole ones, several; several for
  // a block, one, shared by two; narrow ones. Lanes of one tile, of many. With
  // stride 2 as well, 3x3 and 1x1.
  const std::vector<ConvShape> shapes = {{16, 32, 64, 64},
                                         {16, 16, 64, 64},
                                         {48, 16, 64, 128},
                                         {64, 16, 64, 256},
                                         {64, 8, 128, 64},
                                         {16, 8, 256, 128},
                                         {64, 8, 256, 256},
                                         {256, 8, 128, 192},
                                         {16, 4, 64, 64},
                                         {32, 4, 512, 192},
                                         {512, 4, 128, 512},
                                         {16, 16, 64, 64, 16},
                                         {32, 32, 64, 64, 2},
                                         {48, 16, 64, 128, 3},
                                         {64, 8, 128, 64, 16},
                                         {192, 8, 64, 128, 3},
                                         {64, 4, 512, 512, 4},
                                         {256, 4, 64, 64, 16},
                                         {96, 16, 64, 64, 2},
                                         {64, 32, 64, 128, 1, 3, 2},
                                         {64, 16, 128, 256, 1, 3, 2},
                                         {64, 8, 256, 512, 1, 3, 2},
                                         {16, 64, 64, 64, 1, 3, 2},
                                         {256, 32, 64, 128, 1, 3, 2},
                                         {256, 16, 128, 192, 1, 3, 2},
                                         {512, 8, 128, 512, 1, 3, 2},
                                         {64, 32, 64, 128, 4, 3, 2},
                                         {192, 16, 64, 128, 3, 3, 2},
                                         {64, 8, 256, 512, 4, 3, 2},
                                         {64, 32, 64, 128, 1, 1, 2},
                                         {64, 16, 128, 256, 1, 1, 2},
                                         {64, 8, 256, 512, 1, 1, 2},
                                         {16, 64, 64, 64, 1, 1, 2},
                                         {256, 16, 128, 192, 1, 1, 2},
                                         {512, 8, 128, 512, 1, 1, 2},
                                         {64, 32, 64, 128, 4, 1, 2},
                                         {192, 16, 64, 128, 3, 1, 2},
                                         {64, 8, 256, 512, 4, 1, 2}};
};

}  // namespace sotta::testing
