// The tiny network of the goldens against PyTorch: forward and gradients.
#include "tests/support/golden.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/models/weights.h"

namespace sotta {
namespace {

using testing::close;
using testing::Golden;

std::unique_ptr<Classifier> golden_network() {
  return make_classifier(Golden("methods/network").file(), {}, "network");
}

TEST(GoldenNetwork, FlatVectorsLieAsPyTorchOrdersThem) {
  const Golden golden("nn/forward");
  const auto model = golden_network();
  EXPECT_TRUE(model->source().body.equal(golden["body"]));
  EXPECT_TRUE(model->source().affine.equal(golden["affine"]));
  EXPECT_TRUE(model->source().running_mean.equal(golden["running_mean"]));
  EXPECT_TRUE(model->source().running_var.equal(golden["running_var"]));

  std::string names;
  for (const auto& norm : model->norm_layers())
    names += (names.empty() ? "" : ",") + norm.name;
  EXPECT_EQ(names, golden.metadata("norm_layers"));
}

class GoldenForward
    : public ::testing::TestWithParam<std::pair<const char*, NormStats>> {};

TEST_P(GoldenForward, LogitsFeaturesAndStatisticsEqualPyTorch) {
  const auto [mode, stats] = GetParam();
  const std::string prefix = std::string(mode) + ".";
  const Golden golden("nn/forward");
  const auto model = golden_network();

  const auto result = model->forward(golden["images"], model->source(), stats);

  EXPECT_TRUE(close(result.logits, golden[prefix + "logits"], 1e-5, 1e-4));
  EXPECT_TRUE(close(result.features, golden[prefix + "features"], 1e-5, 1e-4));
  if (stats.source == NormStats::Source::kRunning) return;
  EXPECT_TRUE(close(result.batch_mean, golden[prefix + "mean"], 1e-5, 1e-4));
  EXPECT_TRUE(close(result.batch_var, golden[prefix + "var"], 1e-5, 1e-4));
}

TEST_P(GoldenForward, GradientsOfTheMeanEntropyEqualPyTorch) {
  const auto [mode, stats] = GetParam();
  const std::string prefix = std::string(mode) + ".";
  const Golden golden("nn/forward");
  const auto model = golden_network();
  ModelState state = model->source().clone();
  state.affine.requires_grad_();
  state.body.requires_grad_();
  const at::Tensor images =
      golden["images"].to(at::kFloat).div_(255).requires_grad_();

  const at::Tensor p = model->forward(images, state, stats).logits.softmax(1);
  const at::Tensor entropy = p.mul(p.add(1e-6).log()).sum(1).mean().neg();
  const auto gradients =
      torch::autograd::grad({entropy}, {state.affine, state.body, images});

  EXPECT_TRUE(
      close(gradients[0], golden[prefix + "affine_gradient"], 1e-5, 1e-3));
  EXPECT_TRUE(
      close(gradients[1], golden[prefix + "body_gradient"], 1e-5, 1e-3));
  if (!golden.has(prefix + "image_gradient")) return;
  EXPECT_TRUE(close(gradients[2].slice(0, 0, 2),
                    golden[prefix + "image_gradient"], 1e-5, 1e-3));
}

INSTANTIATE_TEST_SUITE_P(
    AllSources, GoldenForward,
    ::testing::Values(std::make_pair("running", NormStats::running()),
                      std::make_pair("batch", NormStats::batch()),
                      std::make_pair("blended", NormStats::blended(0.05))));

}  // namespace
}  // namespace sotta
