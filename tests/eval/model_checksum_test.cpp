#include "eval/model_checksum.h"

#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

ModelState ones_state() {
  return {at::ones({5}), at::ones({4}), at::ones({2}), at::ones({2})};
}

TEST(ModelChecksum, DependsOnEveryNumber) {
  const std::string before = model_checksum(ones_state());
  EXPECT_EQ(before.size(), 16u);
  EXPECT_EQ(model_checksum(ones_state()), before);
  for (at::Tensor ModelState::*part :
       {&ModelState::body, &ModelState::affine, &ModelState::running_mean,
        &ModelState::running_var}) {
    ModelState state = ones_state();
    (state.*part)[1].fill_(1.0000001);
    EXPECT_NE(model_checksum(state), before);
  }
}

TEST(ModelChecksum, EveryNumberCounts) {
  ModelState state;
  state.body = at::arange(3, at::kFloat);
  state.affine = at::arange(4, at::kFloat);
  state.running_mean = at::arange(2, at::kFloat);
  state.running_var = at::arange(2, at::kFloat);
  std::set<std::string> seen = {model_checksum(state)};
  for (const at::Tensor& part :
       {state.body, state.affine, state.running_mean, state.running_var})
    for (int64_t i = 0; i < part.numel(); ++i) {
      part[i] += 0.5;
      EXPECT_TRUE(seen.insert(model_checksum(state)).second);
      part[i] -= 0.5;
    }
}

// mix64(sum + bits) over the floats' bits, computed by a second program.
TEST(ModelChecksum, IsThatOfEarlierRecords) {
  EXPECT_EQ(model_checksum({at::tensor({1.5f, -2.0f}), at::tensor({0.25f}),
                            at::tensor({3.0f}), at::tensor({0.5f, 1.0f})}),
            "655319cf7f5da6b1");
}

TEST(ModelChecksum, IsPaddedToSixteenDigits) {
  EXPECT_EQ(model_checksum({at::zeros({1}), at::zeros({1}), at::zeros({1}),
                            at::zeros({1})}),
            "0000000000000000");
}

}  // namespace
}  // namespace sotta
