#include "nn/channel_statistics.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/var_mean.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

std::vector<Moments> moments(const at::Tensor& input) {
  return channel_moments(input.data_ptr<float>(), Planes(input));
}

TEST(ChannelStatistics, OneToFourByHand) {
  const auto found =
      moments(at::arange(1, 5).to(at::kFloat).view({2, 1, 1, 2}))[0];
  EXPECT_DOUBLE_EQ(found.mean, 2.5);
  EXPECT_DOUBLE_EQ(found.var, 1.25);
}

TEST(ChannelStatistics, EqualDoublePrecisionWhateverThePlanesSize) {
  for (const int64_t side : {1, 3, 6, 17, 32}) {
    // Far from zero, where a careless sum of squares would cancel.
    const at::Tensor input = at::randn({9, 5, side, side}) + 30;
    const auto [var, mean] = at::var_mean(
        input.to(at::kDouble), at::IntArrayRef({0, 2, 3}), /*unbiased=*/false);
    const auto found = moments(input);
    for (size_t c = 0; c < 5; ++c) {
      const auto channel = static_cast<int64_t>(c);
      EXPECT_NEAR(found[c].mean, mean[channel].item<double>(), 1e-5);
      EXPECT_NEAR(found[c].var, var[channel].item<double>(), 1e-5) << side;
    }
  }
}

}  // namespace
}  // namespace sotta
