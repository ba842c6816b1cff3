#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

class GpuRandomNumbers : public testing::OnGpu {
 protected:
  // A stream that was drawn from before, for both devices.
  Rng on_cpu{9}, on_gpu{9};
  void SetUp() override {
    testing::OnGpu::SetUp();
    on_cpu.next();
    on_gpu.next();
  }
  void TearDown() override { EXPECT_EQ(on_gpu.next(), on_cpu.next()); }
};

TEST_F(GpuRandomNumbers, UniformOnesAreTheCpus) {
  EXPECT_TRUE(random_uniform(on_gpu, {7, 1001}, gpu)
                  .cpu()
                  .equal(random_uniform(on_cpu, {7, 1001})));
}

TEST_F(GpuRandomNumbers, DecisionsAreTheCpus) {
  EXPECT_TRUE(random_below(on_gpu, {70001}, 0.01, gpu)
                  .cpu()
                  .equal(random_below(on_cpu, {70001}, 0.01)));
}

TEST_F(GpuRandomNumbers, NormalOnesAreTheCpusToTheLastBit) {
  const at::Tensor found = random_normal(on_gpu, {70001}, gpu).cpu();
  const at::Tensor expected = random_normal(on_cpu, {70001});
  EXPECT_LE(((found - expected).abs() / expected.abs()).max().item<float>(),
            1.2e-7);
  EXPECT_LT(found.ne(expected).sum().item<int64_t>(), 70);
}

TEST_F(GpuRandomNumbers, OfNoneIsNone) {
  EXPECT_EQ(random_normal(on_gpu, {0, 3}, gpu).numel(), 0);
}

}  // namespace
}  // namespace sotta
