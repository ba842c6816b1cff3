#include "sotta/nn/gradient.h"

#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(Gradient, OfASumOfSquaresIsTwiceTheValue) {
  const at::Tensor values = at::arange(4, at::kFloat);
  const at::Tensor leaf = as_leaf(values);
  const at::Tensor gradient = gradient_of(leaf.square().sum(), leaf);
  EXPECT_TRUE(gradient.equal(values * 2));
  EXPECT_FALSE(gradient.requires_grad());
}

TEST(Gradient, LeavesTheValuesWithoutAGraph) {
  const at::Tensor values = at::arange(4, at::kFloat);
  as_leaf(values);
  EXPECT_FALSE(values.requires_grad());
}

TEST(Gradient, IsZeroWhereNothingDepends) {
  const at::Tensor used = as_leaf(at::arange(3, at::kFloat));
  const at::Tensor unused = as_leaf(at::arange(2, at::kFloat));
  EXPECT_TRUE(gradient_of(used.sum(), unused).equal(at::arange(2) * 0.0));
}

TEST(Gradient, IsZeroWhereTheLossDependsOnNothing) {
  const at::Tensor leaf = as_leaf(at::arange(2, at::kFloat));
  EXPECT_TRUE(
      gradient_of(leaf.detach().sum(), leaf).equal(at::arange(2) * 0.0));
}

TEST(Gradient, ThatLibTorchCannotComputeIsOneSentence) {
  const at::Tensor leaf = as_leaf(at::arange(3, at::kFloat));
  const at::Tensor root = leaf.exp();
  const at::Tensor loss = root.square().sum();
  root.add_(1);  // what the backward pass of square() needs
  testing::expect_error(ErrorKind::kUnsupported,
                        "gradient: cannot be computed, LibTorch says: one of",
                        [&] { gradient_of(loss, leaf); });
}

// As LibTorch's own operators without a derivative do.
struct WithoutGradient : torch::autograd::Function<WithoutGradient> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/,
                            const at::Tensor& input) {
    return input * 2;
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* /*context*/,
      const torch::autograd::variable_list& /*gradients*/) {
    throw std::runtime_error("derivative for it is not implemented");
  }
};

TEST(Gradient, OfAnOperatorThatHasNoneIsOneSentence) {
  const at::Tensor leaf = as_leaf(at::arange(3, at::kFloat));
  testing::expect_error(
      ErrorKind::kUnsupported,
      "gradient: cannot be computed, LibTorch says: derivative for it is not",
      [&] { gradient_of(WithoutGradient::apply(leaf).sum(), leaf); });
}

TEST(Gradient, OfSeveralLeavesComesInTheirOrder) {
  const at::Tensor first = as_leaf(at::arange(3, at::kFloat));
  const at::Tensor second = as_leaf(at::arange(3, 6, at::kFloat));
  const at::Tensor unused = as_leaf(at::arange(2, at::kFloat));
  const auto gradients =
      gradients_of((first * second).sum(), {second, unused, first});
  EXPECT_TRUE(gradients.at(0).equal(first));
  EXPECT_TRUE(gradients.at(1).equal(at::arange(2) * 0.0));
  EXPECT_TRUE(gradients.at(2).equal(second));
}

}  // namespace
}  // namespace sotta
