#include "nn/adamw.h"

#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

// What all optimisers have in common, and PyTorch's AdamW: optimiser_test.cpp.

namespace sotta {
namespace {

TEST(AdamW, DecayIsApartFromTheGradientAndOnlyWhereAsked) {
  // A first step goes the rate times the gradient's sign, after a decay of
  // 0.01 * 0.5 times the parameter.
  const at::Tensor start = at::tensor({2.0f, -3.0f, 4.0f});
  const at::Tensor gradient = at::tensor({1.0f, 0.0f, -7.0f});
  const at::Tensor parameters = start.clone();
  make_adamw({0.01, 0.5}, {}, at::tensor({1, 1, 0}))
      ->step(parameters, gradient);
  EXPECT_TRUE(testing::close(parameters, at::tensor({1.98f, -2.985f, 4.01f})));

  const at::Tensor all = start.clone();
  make_adamw({0.01, 0.5})->step(all, gradient);
  EXPECT_TRUE(testing::close(all, at::tensor({1.98f, -2.985f, 3.99f})));
}

TEST(AdamW, SecondStepByHand) {
  const at::Tensor rate = at::tensor({0.1f});
  const auto optimiser = make_adamw({0, 0, 0.5, 0.75}, {}, {}, rate);
  const at::Tensor parameters = at::zeros({1});
  optimiser->step(parameters, at::tensor({1.0f}));  // to -0.1
  rate.fill_(0.2);
  optimiser->step(parameters, at::tensor({-2.0f}));
  // As Adam's, at twice the rate.
  EXPECT_NEAR(parameters.item<double>(),
              -0.1 + 0.2 / std::sqrt(1.1875 / 0.4375), 1e-6);
}

TEST(AdamW, OptionsOutOfRangeAreNamed) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  using testing::expect_error;
  const auto invalid = ErrorKind::kInvalid;
  expect_error(invalid, "learning_rate", [nan] { make_adamw({nan}); });
  expect_error(invalid, "weight_decay", [] { make_adamw({1e-3, -1}); });
  expect_error(invalid, "beta1", [] { make_adamw({1e-3, 0, 1}); });
  expect_error(invalid, "beta2", [] { make_adamw({1e-3, 0, 0.9, 1}); });
  expect_error(invalid, "epsilon", [] { make_adamw({1e-3, 0, 0.9, 0.9, 0}); });
  expect_error(invalid, "rate", [] { make_adamw({}, {}, {}, at::zeros({2})); });
  expect_error(invalid, "decayed", [] {
    make_adamw({}, {}, at::ones({2}))->step(at::zeros({3}), at::zeros({3}));
  });
}

}  // namespace
}  // namespace sotta
