#include "nn/channel_statistics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/nn/batch_norm.h"

#include "tests/support/golden.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

TEST(ChannelStatistics, OneToFourByHand) {
  const auto found =
      channel_statistics(at::arange(1, 5).to(at::kFloat).view({2, 1, 1, 2}));
  EXPECT_FLOAT_EQ(found.mean.item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(found.var.item<float>(), 1.25f);
}

TEST(ChannelStatistics, EqualDoublePrecisionWhateverThePlanesSize) {
  for (const int64_t side : {1, 3, 6, 17, 32}) {
    // Far from zero, where a careless sum of squares would cancel.
    const at::Tensor input = at::randn({9, 5, side, side}) + 30;
    const auto [var, mean] = at::var_mean(
        input.to(at::kDouble), at::IntArrayRef({0, 2, 3}), /*unbiased=*/false);
    const auto found = channel_statistics(input);
    EXPECT_TRUE(testing::close(found.mean.to(at::kDouble), mean, 0, 1e-6));
    EXPECT_TRUE(testing::close(found.var.to(at::kDouble), var, 0, 1e-5));
  }
}

TEST(ChannelStatistics, GradientsEqualThoseOfDoublePrecision) {
  const at::Tensor input = at::randn({8, 6, 9, 7});
  const at::Tensor scale = at::randn({6}), shift = at::randn({6});
  const at::Tensor weights = at::randn({8, 6, 9, 7});
  const auto gradients = [&](at::ScalarType type) {
    const auto leaf = [&](const at::Tensor& values) {
      return values.to(type).clone().requires_grad_();
    };
    const at::Tensor x = leaf(input), g = leaf(scale), b = leaf(shift);
    const at::Tensor space = at::zeros({6}, type);
    const at::Tensor output =
        batch_norm(x, {g, b, space, space, space.clone(), space.clone()},
                   NormStats::batch());
    return torch::autograd::grad({output}, {x, g, b}, {weights.to(type)});
  };
  const auto single = gradients(at::kFloat), exact = gradients(at::kDouble);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(testing::close(single[i].to(at::kDouble), exact[i], 1e-5, 1e-4))
        << i;
}

TEST(ChannelStatistics, SameBitsAtAnyThreadCount) {
  const at::Tensor input = at::randn({16, 7, 32, 32});
  testing::expect_same_bits_at_any_thread_count(
      [&] { return channel_statistics(input).var; });
}

TEST(ChannelStatistics, OnlyPlainFloatsOnTheCpuAreFast) {
  EXPECT_TRUE(has_fast_statistics(at::randn({2, 3, 4, 4})));
  EXPECT_FALSE(has_fast_statistics(at::randn({2, 3, 4, 4}, at::kDouble)));
  EXPECT_FALSE(has_fast_statistics(at::randn({2, 3, 4, 4}).transpose(2, 3)));
}

}  // namespace
}  // namespace sotta
