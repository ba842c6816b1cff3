#include "adapt/methods/frozen.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "models/resnet.h"

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

// A network of norm layers of one channel each, by their names alone.
class NamedLayers : public Classifier {
 public:
  explicit NamedLayers(const std::vector<std::string>& names) {
    for (const auto& name : names)
      layers_.push_back({name, 1, static_cast<int64_t>(layers_.size())});
    state_.affine = at::ones({2 * static_cast<int64_t>(names.size())});
  }

  ForwardResult forward(const at::Tensor&, const ModelState&,
                        NormStats) const override {
    return {};
  }
  const ModelState& source() const override { return state_; }
  int64_t classes() const override { return 2; }
  int64_t channels() const override { return 3; }
  std::string engine() const override { return "none"; }
  const std::vector<NormLayer>& norm_layers() const override { return layers_; }
  const Normalisation& normalisation() const override { return normalisation_; }
  NamedTensors named_tensors(const ModelState&) const override { return {}; }

 private:
  std::vector<NormLayer> layers_;
  ModelState state_;
  Normalisation normalisation_;
};

// Which layers "auto" leaves to be trained, 1 each.
std::vector<int64_t> trained_layers(const std::vector<std::string>& names) {
  const at::Tensor mask = trainable_mask(NamedLayers(names), "auto");
  std::vector<int64_t> trained;
  for (size_t i = 0; i < names.size(); ++i)
    trained.push_back(
        mask.defined() ? mask[2 * static_cast<int64_t>(i)].item<int64_t>() : 1);
  return trained;
}

TEST(Frozen, TheLastStageIsTheShortestPrefixThatDoesNotHoldEveryLayer) {
  using Trained = std::vector<int64_t>;
  // A ResNet in a wrapper, a MobileNet, a VGG.
  EXPECT_EQ(trained_layers({"net.bn1", "net.layer1.0.bn1", "net.layer2.0.bn1",
                            "net.layer2.0.bn2"}),
            (Trained{1, 1, 0, 0}));
  EXPECT_EQ(trained_layers({"features.0.1", "features.1.1", "features.10.0.1",
                            "features.10.1.1"}),
            (Trained{1, 1, 0, 0}));
  EXPECT_EQ(trained_layers({"features.41", "features.40", "features.4"}),
            (Trained{1, 1, 0}));
}

TEST(Frozen, TheLastQuarterOfATransformersBlocksGoesWithItsFinalNorm) {
  using Trained = std::vector<int64_t>;
  EXPECT_EQ(
      trained_layers({"blocks.0.norm1", "blocks.1.norm1", "blocks.5.norm1",
                      "blocks.6.norm1", "blocks.7.norm1", "norm"}),
      (Trained{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(trained_layers({"encoder.layers.layer_0.ln_1",
                            "encoder.layers.layer_1.ln_1", "encoder.ln"}),
            (Trained{1, 0, 0}));
  // A wide residual network: its last norm layer has a number, but is alone.
  EXPECT_EQ(trained_layers({"block1.layer.0.bn1", "block1.layer.0.bn2",
                            "block2.layer.0.bn1", "block3.layer.0.bn1",
                            "block3.layer.3.bn2", "bn1"}),
            (Trained{1, 1, 1, 0, 0, 0}));
  // All would be frozen.
  EXPECT_EQ(trained_layers({"blocks.0.norm1", "norm"}), (Trained{1, 0}));
}

TEST(Frozen, ASingleNormLayerIsTrained) {
  EXPECT_EQ(trained_layers({"features.1"}), (std::vector<int64_t>{1}));
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
