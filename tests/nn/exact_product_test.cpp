#include "nn/exact_product.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(ExactProduct, ByHand) {
  const at::Tensor left = at::tensor({1.f, 2.f, 3.f, 4.f}).view({2, 2});
  const at::Tensor right = at::tensor({5.f, 6.f}).view({2, 1});
  EXPECT_TRUE(
      exact_product(left, right).equal(at::tensor({17.f, 39.f}).view({2, 1})));
}

}  // namespace
}  // namespace sotta
