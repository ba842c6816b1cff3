#include <string>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "engine/fused.h"
#include "tests/engine/models.h"

namespace sotta::engine {
namespace {

class FusedLanes : public ::testing::TestWithParam<std::string> {
 protected:
  Lane lane(int64_t i, int64_t images,
            NormStats stats = NormStats::running()) const {
    ModelState state = model->source().clone_norm();
    state.affine.mul_(1 + 0.1 * static_cast<double>(i));
    state.running_mean.add_(0.03 * static_cast<double>(i));
    state.running_var.mul_(1 + 0.2 * static_cast<double>(i));
    return {make_images(images + i, 32, 32).narrow(0, i, images), state, stats};
  }

  std::vector<Lane> lanes(int64_t count, int64_t images) const {
    std::vector<Lane> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(lane(i, images));
    return all;
  }

  // Lane by lane the bits of forward().
  void expect_as_alone(const std::vector<Lane>& all) const {
    const auto found = model->forward_lanes(all);
    ASSERT_EQ(found.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto wanted =
          model->forward(all[i].images, all[i].state, all[i].stats);
      EXPECT_TRUE(found[i].features.equal(wanted.features)) << "lane " << i;
      expect_close(found[i].logits, wanted.logits, 1e-6);
      EXPECT_EQ(found[i].batch_mean.defined(), wanted.batch_mean.defined());
    }
  }

  const std::unique_ptr<Classifier> model =
      make_fused(make_model(GetParam()), /*low_memory=*/false);
  const at::NoGradGuard no_gradients;
};

TEST_P(FusedLanes, GiveTheBitsOfEachAlone) {
  expect_as_alone(lanes(2, 1));
  expect_as_alone(lanes(5, 3));
}

TEST_P(FusedLanes, GiveTheSameBitsInParts) {
  expect_as_alone(lanes(70, 1));
  expect_as_alone(lanes(9, 15));
}

TEST_P(FusedLanes, OfDifferentSizesOrStatisticsRunOneByOne) {
  expect_as_alone({lane(0, 2), lane(1, 3), lane(2, 2)});
  expect_as_alone({lane(0, 2), lane(1, 2, NormStats::batch())});
}

TEST_P(FusedLanes, PassGradientsOn) {
  const at::AutoGradMode with_gradients(true);
  std::vector<Lane> all = lanes(2, 2);
  for (Lane& each : all)
    each.state.affine = as_leaf(each.state.affine);
  const auto found = model->forward_lanes(all);
  for (size_t i = 0; i < all.size(); ++i) {
    const at::Tensor wanted = gradient_of(
        entropy(
            model->forward(all[i].images, all[i].state, all[i].stats).logits)
            .sum(),
        all[i].state.affine);
    EXPECT_TRUE(gradient_of(entropy(found[i].logits).sum(), all[i].state.affine)
                    .equal(wanted));
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, FusedLanes,
                         ::testing::Values("resnet8", "resnet18", "imagenet",
                                           "bottlenecks"),
                         [](const auto& tried) { return tried.param; });

TEST(FusedLanesGain, WhereFewImagesArePredicted) {
  const auto model = make_fused(make_model("resnet8"), /*low_memory=*/false);
  const auto gains = [&](int64_t images, NormStats stats, bool leaf = false) {
    Lane lane{make_images(images, 16, 16), model->source(), stats};
    if (leaf) lane.state.affine = as_leaf(lane.state.affine);
    return model->gains_from_lanes(lane);
  };
  EXPECT_TRUE(gains(1, NormStats::running()));
  EXPECT_TRUE(gains(15, NormStats::running()));
  EXPECT_FALSE(gains(16, NormStats::running()));
  EXPECT_FALSE(gains(1, NormStats::batch()));
  EXPECT_FALSE(gains(1, NormStats::running(), /*leaf=*/true));
}

}  // namespace
}  // namespace sotta::engine
