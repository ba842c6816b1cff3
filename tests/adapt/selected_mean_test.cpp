#include "adapt/methods/selected_mean.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/nn/gradient.h"

#include "tests/support/golden.h"

namespace sotta {
namespace {

at::Tensor flags(std::vector<int64_t> values) {
  return at::tensor(values).to(at::kBool);
}

TEST(SelectedMean, AveragesTheSelectedOnes) {
  const at::Tensor values = at::tensor({1.0, 20.0, 3.0});
  EXPECT_EQ(selected_mean(values, flags({1, 0, 1})).item<double>(), 2);
}

TEST(SelectedMean, AveragesRows) {
  const at::Tensor rows = at::tensor({1.0, 2.0, 3.0, 4.0}).view({2, 2});
  EXPECT_TRUE(selected_mean(rows, flags({1, 1})).equal(at::tensor({2.0, 3.0})));
}

TEST(SelectedMean, OfNothingIsZeroAndHasNoGradient) {
  const at::Tensor leaf = as_leaf(at::tensor({1.0, 2.0}));
  const at::Tensor mean = selected_mean(leaf.square(), flags({0, 0}));
  EXPECT_EQ(mean.item<double>(), 0);
  EXPECT_TRUE(gradient_of(mean, leaf).equal(at::zeros({2}, at::kDouble)));
}

TEST(SelectedMean, GradientReachesTheSelectedOnly) {
  const at::Tensor leaf = as_leaf(at::tensor({1.0, 2.0, 3.0}));
  const at::Tensor mean = selected_mean(leaf.square(), flags({1, 0, 1}));
  EXPECT_TRUE(gradient_of(mean, leaf).equal(at::tensor({1.0, 0.0, 3.0})));
}

}  // namespace
}  // namespace sotta
