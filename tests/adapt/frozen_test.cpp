#include "adapt/frozen.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/models/resnet.h"

namespace sotta {
namespace {

std::unique_ptr<Classifier> network(const std::string& name) {
  const ResNetSpec spec = named_resnet(name, 10);
  return make_resnet(spec, random_resnet_state(spec, Rng(0)),
                     {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}});
}

int64_t trained(const Classifier& model, const std::string& frozen) {
  return trainable_mask(model, frozen).sum().item<int64_t>();
}

TEST(Frozen, LastStageOfResNet18LeavesFifteenLayers) {
  const auto model = network("resnet18");
  EXPECT_EQ(trained(*model, "auto"), 4480);
  EXPECT_EQ(trained(*model, "layer4"), 4480);
}

TEST(Frozen, NetworksWithoutLayer4FreezeTheirOwnLastStage) {
  const auto model = network("resnet8");
  EXPECT_EQ(trained(*model, "auto"), trained(*model, "layer3"));
  EXPECT_LT(trained(*model, "auto"), model->source().affine.numel());
}

TEST(Frozen, NothingFrozenIsNoMask) {
  EXPECT_FALSE(trainable_mask(*network("resnet8"), "").defined());
}

TEST(Frozen, PatternsThatFitNothingOrEverythingAreRefused) {
  const auto model = network("resnet8");
  EXPECT_THROW(trainable_mask(*model, "layer4"), Error);
  EXPECT_THROW(trainable_mask(*model, "n"), Error);
}

}  // namespace
}  // namespace sotta
