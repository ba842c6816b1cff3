#include "adapt/gradient_step.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(GradientStep, TakesTheStepAndReportsIt) {
  const auto optimiser = make_sgd({/*learning_rate=*/0.5});
  const at::Tensor parameters = at::tensor({1.f, 2.f});
  const UpdateReport report =
      take_gradient_step(*optimiser, parameters, at::tensor(7.f),
                         /*gradient=*/at::tensor({3.f, 4.f}));
  EXPECT_TRUE(parameters.equal(at::tensor({-0.5f, 0.f})));
  EXPECT_TRUE(report.applied);
  EXPECT_EQ(report.loss.item<double>(), 7);
  EXPECT_EQ(report.gradient_norm.item<double>(), 5);
  EXPECT_EQ(report.parameter_change.item<double>(), 2.5);
  EXPECT_FALSE(report.loss_after.defined());
  EXPECT_TRUE(report.verdicts.empty());
}

}  // namespace
}  // namespace sotta
