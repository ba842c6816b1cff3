#include "gpu/kernels/random/augmented_views.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "nn/augment.h"
#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

using GpuAugmentedViews = testing::OnGpu;

// Patches of colour.
at::Tensor pictures(int64_t channels, int64_t height, int64_t width) {
  Rng rng(4);
  const at::Tensor coarse = random_uniform(rng, {5, channels, 4, 4});
  return coarse.repeat_interleave(height / 4, 2)
      .repeat_interleave(width / 4, 3);
}

TEST_F(GpuAugmentedViews, AreTheCpusViews) {
  for (const int64_t channels : {1, 3})
    for (const int64_t width : {32, 24}) {
      SCOPED_TRACE(std::to_string(channels) + " " + std::to_string(width));
      const at::Tensor images = pictures(channels, 32, width);
      Rng on_cpu(7), on_gpu(7);
      const auto expected = augment(images, on_cpu, 40);
      const auto found = augment(images.to(gpu), on_gpu, 40);
      EXPECT_EQ(on_gpu.next(), on_cpu.next());
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        const at::Tensor off = (found[i].cpu() - expected[i]).abs();
        EXPECT_LT(off.max().item<float>(), 2e-3) << i;
        EXPECT_LT(off.mean().item<float>(), 1e-5) << i;
      }
    }
}

TEST_F(GpuAugmentedViews, OfLargePicturesAreTheSameWithoutTheKernel) {
  const at::Tensor images = pictures(3, 64, 64);
  EXPECT_FALSE(has_augmented_views(images.to(gpu)));
  Rng on_cpu(7), on_gpu(7);
  const at::Tensor expected = augment(images, on_cpu);
  const at::Tensor found = augment(images.to(gpu), on_gpu).cpu();
  EXPECT_LT((found - expected).abs().max().item<float>(), 2e-3);
}

}  // namespace
}  // namespace sotta
