#include "models/network_tensors.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// Two norm layers, one of which has running averages, and three tensors.
NetworkTensors some() {
  NetworkTensors tensors;
  tensors.add_body("conv.weight", {2, 3, 1, 1});
  tensors.add_norm("bn", 2);
  tensors.add_norm("ln", 4, NormKind::kLayer);
  tensors.add_body("fc.weight", {5, 4});
  tensors.add_body("fc.bias", {5});
  return tensors;
}

TEST(NetworkTensors, LieOneBehindAnother) {
  const NetworkTensors tensors = some();
  EXPECT_EQ(tensors.body_size(), 6 + 20 + 5);
  EXPECT_EQ(tensors.norm_channels(), 6);
  EXPECT_EQ(tensors.running_channels(), 2);
  EXPECT_EQ(tensors.norms[1].offset, 2);
  const auto parts = tensors.cut_body(at::arange(31, at::kFloat));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].sizes(), at::IntArrayRef({5, 4}));
  EXPECT_EQ(parts[2][0].item<float>(), 26);
}

TEST(NetworkTensors, NamesAreViewsOfAState) {
  const NetworkTensors tensors = some();
  const ModelState state = tensors.random_state(Rng(1));
  const auto named = tensors.named(state);
  EXPECT_EQ(named.size(), 3u + 4u + 2u);
  EXPECT_EQ(named.count("ln.running_mean"), 0u);
  named.at("fc.bias").fill_(7);
  EXPECT_EQ(state.body[30].item<float>(), 7);
}

TEST(NetworkTensors, RandomStatesAreBoundedByTheFanIn) {
  const ModelState state = some().random_state(Rng(3));
  EXPECT_LE(state.body.slice(0, 0, 6).abs().max().item<double>(),
            0.57736);  // 1/sqrt(3)
  EXPECT_LE(state.body.slice(0, 6).abs().max().item<double>(), 0.5);
  EXPECT_GT(state.body.slice(0, 26).abs().max().item<double>(), 0);
  EXPECT_EQ(state.affine.sum().item<double>(), 6);
  EXPECT_EQ(state.running_var.sum().item<double>(), 2);
  EXPECT_TRUE(state.body.equal(some().random_state(Rng(3)).body));
}

TEST(NetworkTensors, StatesOfOtherSizesAreRefused) {
  const NetworkTensors tensors = some();
  ModelState state = tensors.random_state(Rng(1));
  tensors.check(state, "x");
  state.running_mean = at::zeros({6});
  testing::expect_error(ErrorKind::kInvalid,
                        "x: expected a float vector running_mean of 2 values",
                        [&] { tensors.check(state, "x"); });
}

}  // namespace
}  // namespace sotta
