#include "sotta/models/model_state.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

ModelState small_state() {
  return {at::full({5}, 1.0), at::full({4}, 2.0), at::full({2}, 3.0),
          at::full({2}, 4.0)};
}

TEST(ModelState, CloneNormCopiesWhatAdaptationChangesAndSharesTheBody) {
  const ModelState state = small_state();

  ModelState copy = state.clone_norm();
  copy.affine.fill_(9);
  copy.running_mean.fill_(9);
  copy.running_var.fill_(9);

  EXPECT_TRUE(at::equal(state.affine, at::full({4}, 2.0)));
  EXPECT_TRUE(at::equal(state.running_mean, at::full({2}, 3.0)));
  EXPECT_TRUE(at::equal(state.running_var, at::full({2}, 4.0)));
  EXPECT_EQ(copy.body.data_ptr(), state.body.data_ptr());
}

TEST(ModelState, CloneSharesNothing) {
  const ModelState state = small_state();

  ModelState copy = state.clone();
  copy.body.fill_(9);
  copy.affine.fill_(9);

  EXPECT_TRUE(at::equal(state.body, at::full({5}, 1.0)));
  EXPECT_TRUE(at::equal(state.affine, at::full({4}, 2.0)));
}

TEST(ModelState, GoesToTheDeviceItIsOnWithoutACopy) {
  const ModelState state = small_state();

  const ModelState same = state.to(at::kCPU);

  EXPECT_EQ(same.body.data_ptr(), state.body.data_ptr());
  EXPECT_EQ(same.running_var.data_ptr(), state.running_var.data_ptr());
}

TEST(ModelState, NormViewsAreTheLayersPart) {
  ModelState state;
  state.affine = at::arange(10, at::kFloat);  // two layers of 2 and 3 channels
  state.running_mean = at::arange(5, at::kFloat);
  state.running_var = at::arange(5, at::kFloat).add(100);

  const NormViews views = norm_views(state, {"second", 3, 2});

  EXPECT_TRUE(views.scale.equal(state.affine.slice(0, 4, 7)));
  EXPECT_TRUE(views.shift.equal(state.affine.slice(0, 7, 10)));
  EXPECT_TRUE(views.running_mean.equal(state.running_mean.slice(0, 2, 5)));
  EXPECT_TRUE(views.running_var.equal(state.running_var.slice(0, 2, 5)));
  views.scale.fill_(-1);
  EXPECT_EQ(state.affine[4].item<float>(), -1);
}

TEST(ModelState, NormTensorsHaveTheNamesOfAWeightsFile) {
  ModelState state;
  state.affine = at::arange(10, at::kFloat);  // two layers of 2 and 3 channels
  state.running_mean = at::arange(5, at::kFloat);
  state.running_var = at::arange(5, at::kFloat).add(100);

  const NamedTensors tensors =
      named_norm_tensors(state, {{"first", 2, 0}, {"second", 3, 2}});

  EXPECT_EQ(tensors.size(), 8u);
  EXPECT_TRUE(tensors.at("first.weight").equal(state.affine.slice(0, 0, 2)));
  EXPECT_TRUE(tensors.at("second.bias").equal(state.affine.slice(0, 7, 10)));
  EXPECT_TRUE(tensors.at("second.running_mean")
                  .equal(state.running_mean.slice(0, 2, 5)));
  EXPECT_TRUE(
      tensors.at("first.running_var").equal(state.running_var.slice(0, 0, 2)));
}

}  // namespace
}  // namespace sotta
