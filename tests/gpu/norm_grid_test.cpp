#include "gpu/kernels/norm_grid.h"

#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "gpu/device_queue.h"
#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

// Without these kernels results come later and differ in the last bits only:
// that they are taken at all is seen here. What they compute is
// norm_relu_test.cpp's.
class GpuNormGrid : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && multiprocessors(gpu) < 128)
      GTEST_SKIP() << "a smaller GPU, or a build without kernels for it";
  }

  // Zeros, which a shift makes ones; 7 is what was never written.
  NormForward forward(at::IntArrayRef shape, at::ScalarType type) const {
    const auto vector = [&](double value) {
      return at::full({shape[1]}, value,
                      at::TensorOptions(gpu).dtype(at::kFloat));
    };
    NormForward pass;
    pass.input = at::zeros(shape, at::TensorOptions(gpu).dtype(type))
                     .contiguous(at::MemoryFormat::ChannelsLast);
    pass.vectors = {vector(1), vector(1), vector(0),
                    vector(1), vector(7), vector(7)};
    pass.uses_batch = true;
    pass.batch_share = 1;
    pass.output = at::full_like(pass.input, 7);
    pass.trace = {vector(7), vector(7), vector(7)};
    return pass;
  }

  // A gradient of ones, whose number is that of the shift.
  NormBackward backward(at::IntArrayRef shape, at::ScalarType type) const {
    const NormForward before = forward(shape, type);
    NormBackward pass;
    pass.input = before.input;
    pass.gradient = at::full_like(pass.input, 1);
    pass.scale = before.vectors.scale;
    pass.trace = before.trace;
    pass.batch_share = 1;
    pass.scale_gradient = at::full_like(pass.scale, 7);
    pass.shift_gradient = at::full_like(pass.scale, 7);
    return pass;
  }

  static void expect_all(const at::Tensor& found, int64_t value) {
    EXPECT_TRUE(found.eq(value).all().item<bool>()) << found.sizes();
  }

  void expect_taken(at::IntArrayRef shape, at::ScalarType type) const {
    const NormForward there = forward(shape, type);
    EXPECT_TRUE(run_at_once(there)) << shape << type;
    expect_all(there.output, 1);
    const NormBackward back = backward(shape, type);
    EXPECT_TRUE(run_at_once(back)) << shape << type;
    expect_all(back.shift_gradient, shape[0] * shape[2] * shape[3]);
  }

  void expect_left(at::IntArrayRef shape) const {
    const NormForward there = forward(shape, at::kFloat);
    EXPECT_FALSE(run_at_once(there)) << shape;
    expect_all(there.output, 7);
    const NormBackward back = backward(shape, at::kFloat);
    EXPECT_FALSE(run_at_once(back)) << shape;
    expect_all(back.shift_gradient, 7);
  }
};

TEST_F(GpuNormGrid, TakesTheLayersOfResNet18) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    expect_taken({64, 64, 32, 32}, type);
    expect_taken({64, 128, 16, 16}, type);
    expect_taken({64, 256, 8, 8}, type);
    expect_taken({64, 512, 4, 4}, type);
  }
}

TEST_F(GpuNormGrid, LeavesWhatIsTooLargeOrHasOtherChannels) {
  expect_left({65, 64, 32, 32});
  expect_left({4, 96, 8, 8});
}

TEST_F(GpuNormGrid, LeavesRunningAverages) {
  NormForward pass = forward({64, 64, 32, 32}, at::kFloat);
  pass.uses_batch = false;
  EXPECT_FALSE(run_at_once(pass));
  expect_all(pass.output, 7);
}

// Of zeros it is told that their mean is 2 and their variance 1.
TEST_F(GpuNormGrid, TakesSumsThatAreGivenEvenOnASharedGpu) {
  for (const bool shared : {false, true})
    for (const auto type : {at::kFloat, at::kBFloat16})
      for (const int64_t parts : {1, 5, 16, 256}) {
        const SharedDevice with_others(shared);
        NormForward pass = forward({64, 128, 16, 16}, type);
        const double values = 64 * 16 * 16 / static_cast<double>(parts);
        pass.relu = false;
        pass.sums = at::zeros({1, parts, 2, 128}, pass.vectors.scale.options());
        pass.sums.select(2, 0).fill_(2 * values);
        pass.sums.select(2, 1).fill_(5 * values);
        ASSERT_TRUE(run_at_once(pass));
        EXPECT_LT((pass.vectors.batch_mean - 2).abs().max().item<float>(),
                  1e-5);
        EXPECT_LT((pass.trace.inverse_std - 1).abs().max().item<float>(), 1e-4);
        EXPECT_LT((pass.output.to(at::kFloat) + 1).abs().max().item<float>(),
                  1e-2);
      }
}

TEST_F(GpuNormGrid, LeavesAGpuToThoseWhoShareIt) {
  const SharedDevice with_others(true);
  expect_left({64, 64, 32, 32});
}

}  // namespace
}  // namespace sotta
