#include "sotta/nn/losses.h"

#include <cmath>
#include <functional>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/support/golden.h"
#include "tests/support/gradient_check.h"

namespace sotta {
namespace {

using LossFunction = std::function<at::Tensor(const at::Tensor&)>;

const testing::Golden& golden() {
  static const testing::Golden values("nn/losses");
  return values;
}

// Two classes with odds 3 to 1.
at::Tensor three_to_one() {
  return at::tensor({std::log(3.0), 0.0}, at::kDouble).view({1, 2});
}

TEST(Losses, EntropyOfOddsThreeToOne) {
  const double expected =
      -0.75 * std::log(0.75 + 1e-6) - 0.25 * std::log(0.25 + 1e-6);
  EXPECT_NEAR(entropy(three_to_one()).item<double>(), expected, 1e-12);
}

TEST(Losses, MeanEntropyOfOddsThreeToOneAndIgnorance) {
  const at::Tensor one = three_to_one();
  const double first = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  const double found =
      mean_entropy(at::cat({one, at::zeros_like(one)})).item<double>();
  EXPECT_NEAR(found, (first + std::log(2)) / 2, 1e-5);
}

// To the last bit, value and gradient.
TEST(Losses, MeanEntropyOnTheCpuIsTheEntropiesMean) {
  const at::Tensor logits = golden()["logits"].requires_grad_();
  const at::Tensor found = mean_entropy(logits);
  const at::Tensor expected = entropy(logits).mean();

  EXPECT_TRUE(found.detach().equal(expected.detach()));
  EXPECT_TRUE(torch::autograd::grad({found}, {logits})[0].equal(
      torch::autograd::grad({expected}, {logits})[0]));
}

TEST(Losses, ExactEntropyOfOddsThreeToOne) {
  const double expected = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_NEAR(exact_entropy(three_to_one()).item<double>(), expected, 1e-12);
}

TEST(Losses, ExactEntropyIsZeroForCertaintyAndLogKForIgnorance) {
  const at::Tensor certain = at::tensor({1000.0, 0.0, -1000.0}).view({1, 3});
  EXPECT_EQ(exact_entropy(certain).item<double>(), 0);
  EXPECT_NEAR(exact_entropy(at::full({1, 7}, 3.0)).item<double>(), std::log(7),
              1e-6);
}

TEST(Losses, PseudoLabelIsTheLargestClass) {
  EXPECT_NEAR(pseudo_label_loss(three_to_one()).item<double>(), -std::log(0.75),
              1e-12);
}

TEST(Losses, DistillationOfEqualLogitsIsTheEntropy) {
  EXPECT_NEAR(distillation_loss(three_to_one(), three_to_one()).item<double>(),
              exact_entropy(three_to_one()).item<double>(), 1e-12);
}

TEST(Losses, DistillationTakesTheTargetsProbabilities) {
  const at::Tensor target = -three_to_one();  // odds 1 to 3
  EXPECT_NEAR(distillation_loss(three_to_one(), target).item<double>(),
              -0.25 * std::log(0.75) - 0.75 * std::log(0.25), 1e-12);
}

TEST(Losses, DistillationHasNoGradientForTheTarget) {
  const at::Tensor logits = three_to_one().requires_grad_();
  const at::Tensor target = three_to_one().requires_grad_();
  const auto gradients = torch::autograd::grad(
      {distillation_loss(logits, target).sum()}, {logits, target},
      /*grad_outputs=*/{}, /*retain_graph=*/false, /*create_graph=*/false,
      /*allow_unused=*/true);
  EXPECT_TRUE(gradients[0].defined());
  EXPECT_FALSE(gradients[1].defined());
}

struct GoldenCase {
  const char* name;
  LossFunction function;
};

void PrintTo(const GoldenCase& golden_case, std::ostream* out) {
  *out << golden_case.name;
}

// Of the teacher's logits for the same samples.
at::Tensor distillation(const at::Tensor& logits) {
  const at::Tensor teacher = golden()["teacher_logits"];
  return distillation_loss(logits, teacher.narrow(0, 0, logits.size(0)));
}

class LossGolden : public ::testing::TestWithParam<GoldenCase> {};

// The last sample has probabilities that are 0 and 1 in float32.
TEST_P(LossGolden, EqualsPyTorch) {
  const std::string name = GetParam().name;
  const at::Tensor logits = golden()["logits"].requires_grad_();

  const at::Tensor losses = GetParam().function(logits);
  const auto gradients = torch::autograd::grad({losses.mean()}, {logits});

  EXPECT_TRUE(testing::close(losses.detach(), golden()[name], 1e-6));
  EXPECT_TRUE(
      testing::close(gradients[0], golden()[name + ".mean_gradient"], 1e-7));
}

TEST_P(LossGolden, GradientEqualsFiniteDifferences) {
  const at::Tensor logits = golden()["logits"].narrow(0, 0, 5);
  const auto& function = GetParam().function;
  expect_gradients_match(
      [&](const std::vector<at::Tensor>& inputs) {
        return function(inputs[0]).sum();
      },
      {logits.to(at::kDouble)});
}

INSTANTIATE_TEST_SUITE_P(
    All, LossGolden,
    ::testing::Values(GoldenCase{"entropy", entropy},
                      GoldenCase{"exact_entropy", exact_entropy},
                      GoldenCase{"pseudo_label", pseudo_label_loss},
                      GoldenCase{"distillation", distillation}));

}  // namespace
}  // namespace sotta
