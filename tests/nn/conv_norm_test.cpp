#include "nn/conv_norm.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// What it computes on a GPU is tests/gpu/conv_norm_test.cpp's.
TEST(FusedConvNorm, LeavesACpuToSeparateLoops) {
  const at::Tensor input = at::ones({16, 64, 8, 8}), ones = at::ones({64});
  const PackedKernels packed = packed_kernels(at::ones({64, 64, 3, 3}));
  const NormVectors vectors{ones, ones, ones, ones, {}, {}};
  EXPECT_FALSE(
      fused_conv_norm(input, {packed}, vectors, NormStats::running(), {}));
  EXPECT_TRUE(input.eq(1).all().item<bool>());
}

}  // namespace
}  // namespace sotta
