// Our own networks against PyTorch: tests/golden/networks, made by
// tools/make_network_golden.py.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/models/weights.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "tests/support/golden.h"

namespace sotta {
namespace {

using testing::close;
using testing::Golden;

struct Case {
  std::string name;
  std::string mode;
  NormStats stats;
};

class OwnNetworks : public ::testing::TestWithParam<Case> {
 protected:
  OwnNetworks()
      : golden_("networks/" + GetParam().name + "_passes"),
        model_(make_classifier(Golden("networks/" + GetParam().name).file(), {},
                               GetParam().name)) {}

  at::Tensor expected(const std::string& name) const {
    return golden_[GetParam().mode + "." + name];
  }

  Golden golden_;
  std::unique_ptr<Classifier> model_;
};

TEST_P(OwnNetworks, LogitsAndFeaturesEqualPyTorch) {
  const auto result =
      model_->forward(golden_["images"], model_->source(), GetParam().stats);
  EXPECT_TRUE(close(result.logits, expected("logits"), 1e-5, 1e-5));
  EXPECT_TRUE(close(result.features, expected("features"), 1e-5, 1e-5));
}

TEST_P(OwnNetworks, GradientsOfTheMeanEntropyEqualPyTorch) {
  ModelState state = model_->source();
  state.affine = as_leaf(state.affine);
  const at::Tensor loss =
      entropy(
          model_->forward(golden_["images"], state, GetParam().stats).logits)
          .mean();
  ModelState gradients = model_->source();
  gradients.affine = gradient_of(loss, state.affine);
  for (const auto& layer : model_->norm_layers()) {
    SCOPED_TRACE(layer.name);
    const NormViews views = norm_views(gradients, layer);
    EXPECT_TRUE(close(views.scale, expected(layer.name + ".weight"), 1e-5));
    EXPECT_TRUE(close(views.shift, expected(layer.name + ".bias"), 1e-5));
  }
}

TEST_P(OwnNetworks, ExportedWeightsGiveTheSameLogits) {
  const auto again =
      make_classifier(export_weights(*model_, model_->source()), {}, "again");
  const auto logits = [&](const Classifier& model) {
    return model.forward(golden_["images"], model.source(), GetParam().stats)
        .logits;
  };
  EXPECT_TRUE(logits(*again).equal(logits(*model_)));
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnNetworks,
    ::testing::Values(
        Case{"wide_resnet", "running", NormStats::running()},
        Case{"wide_resnet", "batch", NormStats::batch()},
        Case{"group_norm_resnet", "running", NormStats::running()},
        Case{"group_norm_bottlenecks", "running", NormStats::batch()},
        Case{"vit_torchvision", "running", NormStats::running()},
        Case{"vit_timm", "running", NormStats::batch()}),
    [](const auto& one) { return one.param.name + "_" + one.param.mode; });

}  // namespace
}  // namespace sotta
