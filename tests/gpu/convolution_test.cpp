#include "nn/convolution.h"

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"

#include "gpu/device_queue.h"
#include "gpu/kernels/conv3x3.h"
#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"
#include "tests/gpu/own_convolution.h"

namespace sotta {
namespace {

struct Shape {
  int64_t images, height, from, to;
  int64_t width = height;
  int64_t kernel = 3, stride = 1;

  int64_t padding() const { return kernel / 2; }
};

// With our own convolution, which not every GPU has.
class GpuConvolution : public testing::OnGpu {
 protected:
  void SetUp() override {
    testing::OnGpu::SetUp();
    if (IsSkipped()) return;
    if (!testing::has_own_convolution(gpu))
      GTEST_SKIP() << "not a GPU of compute capability 9.0, or a build "
                      "without kernels for it";
    ASSERT_TRUE(packed_kernels(kernels_for({16, 8, 64, 64}, at::kFloat))
                    .there.defined());
  }

  at::Tensor drawn(at::IntArrayRef shape, uint64_t seed,
                   at::ScalarType type) const {
    Rng rng(seed);
    return random_normal(rng, shape)
        .to(gpu, type)
        .contiguous(at::MemoryFormat::ChannelsLast);
  }
  at::Tensor input_for(const Shape& shape, at::ScalarType type) const {
    return drawn({shape.images, shape.from, shape.height, shape.width}, 1,
                 type);
  }
  at::Tensor kernels_for(const Shape& shape, at::ScalarType type) const {
    return drawn({shape.to, shape.from, shape.kernel, shape.kernel}, 2, type);
  }
  // Packed before the input is drawn, see pack_kernels().
  PackedKernels packed_for(const Shape& shape, at::ScalarType type) const {
    return packed_kernels(kernels_for(shape, type), shape.stride);
  }

  static double difference(const at::Tensor& found,
                           const at::Tensor& expected) {
    return ((found.cpu().to(at::kDouble) - expected).abs().max() /
            expected.abs().max())
        .item<double>();
  }

  // Output, and the input's gradient, beside those of a CPU in float64. Going
  // back with stride 2 is cuDNN's, which may cut factors off.
  void expect_right(const Shape& shape, at::ScalarType type, double tolerance,
                    double strided_back) const {
    SCOPED_TRACE(::testing::Message()
                 << shape.images << " images, " << shape.from << " to "
                 << shape.to << " channels, height " << shape.height
                 << ", kernels " << shape.kernel << ", stride "
                 << shape.stride);
    const at::Tensor kernels = kernels_for(shape, type);
    const PackedKernels packed = packed_for(shape, type);
    const at::Tensor input = as_leaf(input_for(shape, type));
    ASSERT_TRUE(
        is_own_convolution(input, shape.stride, shape.padding(), packed));
    const at::Tensor output =
        convolution(input, kernels, shape.stride, shape.padding(), packed);
    const at::Tensor weight = drawn(output.sizes(), 3, type);

    const at::Tensor exact = as_leaf(input.detach().cpu().to(at::kDouble));
    const at::Tensor expected = at::conv2d(exact, kernels.cpu().to(at::kDouble),
                                           {}, shape.stride, shape.padding());
    ASSERT_EQ(output.sizes(), expected.sizes());
    EXPECT_LT(difference(output.detach(), expected.detach()), tolerance);
    EXPECT_LT(
        difference(gradient_of((output * weight).sum(), input),
                   gradient_of((expected * weight.cpu().to(at::kDouble)).sum(),
                               exact)),
        shape.stride == 1 ? tolerance : strided_back);
  }

  // All ways to cut tiles: part of an image, whole ones, several; several for
  // a block, one, shared by two; narrow ones. With stride 2 as well, 3x3 and
  // 1x1.
  const std::vector<Shape> shapes = {{16, 32, 64, 64},
                                     {16, 48, 64, 64},
                                     {16, 16, 64, 64, 32},
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
                                     {64, 32, 64, 128, 32, 3, 2},
                                     {64, 16, 128, 256, 16, 3, 2},
                                     {64, 8, 256, 512, 8, 3, 2},
                                     {16, 32, 64, 128, 96, 3, 2},
                                     {128, 32, 64, 64, 32, 3, 2},
                                     {256, 16, 128, 192, 16, 3, 2},
                                     {512, 8, 128, 512, 8, 3, 2},
                                     {64, 32, 64, 128, 32, 1, 2},
                                     {64, 16, 128, 256, 16, 1, 2},
                                     {64, 8, 256, 512, 8, 1, 2},
                                     {16, 32, 64, 128, 96, 1, 2},
                                     {256, 16, 128, 192, 16, 1, 2},
                                     {512, 8, 128, 512, 8, 1, 2}};
};

TEST_F(GpuConvolution, IsThatOfFloat64AsFarAsTf32Goes) {
  for (const auto& shape : shapes)
    expect_right(shape, at::kFloat, 4e-4, 2e-3);
}

TEST_F(GpuConvolution, IsThatOfFloat64AsFarAsBfloat16Goes) {
  for (const auto& shape : shapes)
    expect_right(shape, at::kBFloat16, 5e-3, 1e-2);
}

// Rounding must make no number of what is none: not of a NaN of all bits, nor
// of one that differs from infinity by its last bit.
TEST_F(GpuConvolution, KeepsKernelsThatAreNotFinite) {
  const Shape shape{16, 8, 64, 64};
  const at::Tensor input = input_for(shape, at::kFloat);
  for (const int32_t bits : {0x7fffffff, 0x7f800001, 0x7f800000, -1}) {
    const at::Tensor kernels = kernels_for(shape, at::kFloat);
    kernels[3][5][1][1].view(at::kInt).fill_(bits);
    const at::Tensor output = conv3x3(input, packed_kernels(kernels).there);
    const at::Tensor used = output.select(1, 3);
    const bool is_infinity = bits == 0x7f800000;
    EXPECT_TRUE((is_infinity ? used.isinf() : used.isnan()).all().item<bool>())
        << bits;
    EXPECT_TRUE(output.narrow(1, 4, 60).isfinite().all().item<bool>()) << bits;
  }
}

TEST_F(GpuConvolution, HasTheSameBitsEveryTime) {
  for (const auto& shape : shapes) {
    const auto packed = packed_for(shape, at::kFloat).there;
    const at::Tensor input = input_for(shape, at::kFloat);
    EXPECT_TRUE(conv3x3(input, packed, shape.stride)
                    .equal(conv3x3(input, packed, shape.stride)));
  }
}

// Each begins while the one before it ends, in memory that is used again. The
// third shape leaves half of the GPU free, where the next can begin at once.
TEST_F(GpuConvolution, WaitsForTheOneBefore) {
  const at::Tensor zeros =
      at::empty({512, 64, 32, 32}, gpu, at::MemoryFormat::ChannelsLast).zero_();
  for (const Shape& shape :
       {Shape{64, 32, 64, 64}, Shape{64, 16, 64, 64}, Shape{16, 16, 64, 64}}) {
    const at::Tensor input = input_for(shape, at::kFloat);
    // Scaled, so that numbers neither grow nor vanish.
    const auto packed =
        packed_kernels(kernels_for(shape, at::kFloat) * 0.04).there;
    const auto chain = [&](bool shared) {
      const SharedDevice others(shared);  // with it, all start as usual
      // Something to do until the whole chain is in the queue.
      for (int i = 0; i < 20; ++i)
        conv3x3(zeros, packed);
      at::Tensor images = input;
      for (int i = 0; i < 50; ++i)
        images = conv3x3(images, packed);
      return images;
    };
    const at::Tensor expected = chain(true);
    EXPECT_GT(expected.abs().max().item<float>(), 0);
    for (int again = 0; again < 3; ++again)
      EXPECT_TRUE(chain(false).equal(expected));
  }
}

TEST_F(GpuConvolution, IsTheSameInThreadsSideBySide) {
  const auto repeated = [&](const Shape& shape) {
    const OwnQueue queue(gpu);
    const auto packed = packed_for(shape, at::kFloat).there;
    const at::Tensor input = input_for(shape, at::kFloat);
    const at::Tensor first = conv3x3(input, packed, shape.stride);
    for (int i = 0; i < 50; ++i)
      if (!conv3x3(input, packed, shape.stride).equal(first))
        return at::Tensor();
    return first.cpu();
  };
  const SharedDevice shared(true);
  std::vector<at::Tensor> found(shapes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shapes.size(); ++i)
    threads.emplace_back([&, i] { found[i] = repeated(shapes[i]); });
  for (auto& thread : threads)
    thread.join();
  for (size_t i = 0; i < shapes.size(); ++i) {
    ASSERT_TRUE(found[i].defined());
    EXPECT_TRUE(found[i].equal(repeated(shapes[i])));
  }
}

TEST_F(GpuConvolution, HasNoSecondDerivatives) {
  for (const int64_t stride : {1, 2}) {
    const Shape shape{16, 16, 64, 64, 16, 3, stride};
    const PackedKernels packed = packed_for(shape, at::kFloat);
    const at::Tensor input = as_leaf(input_for(shape, at::kFloat));
    const at::Tensor output =
        convolution(input, kernels_for(shape, at::kFloat), stride, 1, packed);
    EXPECT_THROW(torch::autograd::grad({output.sum()}, {input}, {},
                                       /*retain_graph=*/true,
                                       /*create_graph=*/true),
                 Error);
  }
}

TEST_F(GpuConvolution, LeavesOtherShapesToLibTorch) {
  const auto packed =
      packed_kernels(kernels_for({16, 8, 64, 64}, at::kFloat)).there;
  EXPECT_TRUE(fits_conv3x3(input_for({16, 8, 64, 64}, at::kFloat), packed));
  for (const Shape& shape :
       {Shape{17, 8, 64, 64}, Shape{16, 12, 64, 64}, Shape{16, 8, 128, 64}})
    EXPECT_FALSE(fits_conv3x3(input_for(shape, at::kFloat), packed));
  EXPECT_FALSE(fits_conv3x3(input_for({16, 8, 64, 64}, at::kBFloat16), packed));
  EXPECT_FALSE(fits_conv3x3(input_for({16, 8, 64, 64}, at::kFloat).contiguous(),
                            packed));
  EXPECT_FALSE(
      packed_kernels(kernels_for({1, 8, 3, 64}, at::kFloat)).there.defined());
}

// LibTorch's, without the input that only a trained weight's gradient needs.
TEST_F(GpuConvolution, OfFrozenKernelsHasLibTorchsGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const int64_t stride : {1, 2})
      for (const int64_t size : {1, 3}) {
        const at::Tensor kernels = drawn({24, 16, size, size}, 2, type);
        const at::Tensor input = as_leaf(input_for({5, 12, 16, 24}, type)),
                         same = as_leaf(input);
        const at::Tensor found =
            convolution(input, kernels, stride, /*padding=*/size / 2);
        const at::Tensor wanted =
            at::conv2d(same, kernels, {}, stride, size / 2);
        EXPECT_TRUE(found.equal(wanted));
        EXPECT_LE(
            difference(
                gradient_of(found.square().sum(), input),
                gradient_of(wanted.square().sum(), same).cpu().to(at::kDouble)),
            type == at::kFloat ? 1e-5 : 2e-2);
      }
}

TEST_F(GpuConvolution, LeavesOtherStridesAndBordersToLibTorch) {
  const auto is_packed = [&](int64_t kernel, int64_t stride) {
    return packed_for({16, 8, 64, 64, 8, kernel, stride}, at::kFloat)
        .there.defined();
  };
  const std::vector<std::pair<int64_t, int64_t>> others = {
      {1, 1}, {2, 2}, {5, 1}, {3, 3}, {1, 4}};
  for (const auto& [kernel, stride] : others)
    EXPECT_FALSE(is_packed(kernel, stride)) << kernel << " " << stride;

  const Shape shape{16, 16, 64, 64, 16, 3, 2};
  const at::Tensor input = input_for(shape, at::kFloat);
  const auto plain = packed_for({16, 16, 64, 64}, at::kFloat),
             strided = packed_for(shape, at::kFloat),
             one_tap = packed_for({16, 16, 64, 64, 16, 1, 2}, at::kFloat);
  EXPECT_TRUE(is_own_convolution(input, 2, 1, strided));
  EXPECT_TRUE(is_own_convolution(input, 2, 0, one_tap));
  EXPECT_FALSE(is_own_convolution(input, 2, 1, plain));
  EXPECT_FALSE(is_own_convolution(input, 1, 1, strided));
  EXPECT_FALSE(is_own_convolution(input, 2, 0, strided));
  EXPECT_FALSE(is_own_convolution(input, 2, 1, one_tap));
  // Outputs of 8x8 whose input has a row or a column less.
  for (const Shape& odd : {Shape{16, 15, 64, 64, 16}, Shape{16, 16, 64, 64, 15},
                           Shape{16, 17, 64, 64, 17}, Shape{17, 16, 64, 64}}) {
    const at::Tensor other = input_for(odd, at::kFloat);
    EXPECT_FALSE(is_own_convolution(other, 2, 1, strided)) << odd.height;
    EXPECT_FALSE(is_own_convolution(other, 2, 0, one_tap)) << odd.height;
  }
}

TEST_F(GpuConvolution, TakesSmallBatchesThatAreFilledUp) {
  for (const Shape& shape :
       {Shape{16, 8, 64, 64}, Shape{16, 16, 64, 64, 16, 3, 2},
        Shape{16, 16, 64, 64, 16, 1, 2}}) {
    const auto packed = packed_for(shape, at::kFloat);
    const at::Tensor kernels = kernels_for(shape, at::kFloat);
    const at::Tensor input = input_for(shape, at::kFloat);
    const auto convolved = [&](const at::Tensor& images) {
      return convolution(images, kernels, shape.stride, shape.padding(),
                         packed);
    };
    const LeastBatch least(16);
    EXPECT_TRUE(convolved(input.narrow(0, 0, 5))
                    .equal(convolved(input).narrow(0, 0, 5)));
  }
}

}  // namespace
}  // namespace sotta
