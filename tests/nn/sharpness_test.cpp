#include "nn/sharpness.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/nn/optimiser.h"

#include "tests/support/golden.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

TEST(Sharpness, GoesTheRadiusAlongTheGradient) {
  const at::Tensor parameters = at::tensor({1.0, 2.0});
  const at::Tensor gradient = at::tensor({30.0, -40.0});

  const at::Tensor point = sharpest_point(parameters, gradient, 0.5);

  EXPECT_TRUE(testing::close(point, at::tensor({1.3, 1.6})));
  EXPECT_TRUE(parameters.equal(at::tensor({1.0, 2.0})));
}

TEST(Sharpness, LengthOfTheWayIsTheRadius) {
  const at::Tensor gradient = at::sin(at::arange(20000, at::kFloat));
  const at::Tensor way = sharpest_point(at::zeros({20000}), gradient, 0.05);
  EXPECT_NEAR(way.to(at::kDouble).norm().item<double>(), 0.05, 1e-7);
}

TEST(Sharpness, ZeroGradientLeavesTheParameters) {
  const at::Tensor parameters = at::tensor({1.0, -0.25});
  EXPECT_TRUE(
      sharpest_point(parameters, at::zeros({2}), 0.05).equal(parameters));
}

TEST(Sharpness, ResultIsDetachedAndItsOwn) {
  const at::Tensor parameters = at::tensor({1.0, 2.0}).requires_grad_();
  const at::Tensor point = sharpest_point(parameters, at::zeros({2}), 0.05);
  EXPECT_FALSE(point.requires_grad());
  EXPECT_FALSE(point.is_alias_of(parameters));
}

TEST(Sharpness, SameBitsAtAnyThreadCount) {
  const at::Tensor gradient = at::sin(at::arange(300001, at::kFloat));
  testing::expect_same_bits_at_any_thread_count(
      [&] { return sharpest_point(at::zeros_like(gradient), gradient, 0.05); });
}

class SharpnessGolden : public ::testing::TestWithParam<const char*> {};

// Two whole steps: climb, take the gradient up there, step from below.
TEST_P(SharpnessGolden, EqualsPyTorch) {
  const testing::Golden golden("nn/optimisers");
  const std::string kind = GetParam();
  const auto expected = [&](const char* name, int64_t step) {
    return golden["sharpness_" + kind + "." + name][step];
  };
  const auto optimiser =
      kind == "adam_decay" ? make_adam({1e-3, 5e-4}) : make_sgd({5e-3, 0.9});
  const at::Tensor parameters = golden["start"],
                   curvature = golden["curvature"];
  const auto gradient_at = [&](const at::Tensor& point) {
    return curvature.matmul(point) - point.sin();
  };

  for (int64_t step = 0; step < 2; ++step) {
    const at::Tensor gradient = gradient_at(parameters);
    EXPECT_TRUE(testing::close(gradient, expected("gradient", step), 2e-6));
    const at::Tensor point = sharpest_point(parameters, gradient, 0.05);
    EXPECT_TRUE(testing::close(point, expected("perturbed", step)));
    optimiser->step(parameters, gradient_at(point));
    EXPECT_TRUE(testing::close(parameters, expected("after", step)));
  }
}

INSTANTIATE_TEST_SUITE_P(Optimisers, SharpnessGolden,
                         ::testing::Values("adam_decay", "sgd_momentum"));

}  // namespace
}  // namespace sotta
