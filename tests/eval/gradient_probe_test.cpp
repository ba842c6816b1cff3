#include "eval/gradient_probe.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/nn/gradient.h"

#include "models/resnet.h"
#include "nn/random_tensor.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

StreamPlan benign_plan() {
  StreamOptions options;
  options.window = 2;
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"clean", std::make_shared<TensorDataset>(
                    LabelledImages{at::zeros({2, 2, 1, 1}, at::kByte),
                                   at::zeros({2}, at::kLong)},
                    2, "test")}};
  return StreamPlan(options, sources);
}

TEST(GradientProbe, GivesTheNormOfASamplesEntropyGradient) {
  const auto model =
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
  MethodContext context;
  context.model = model;
  const Adapter adapter("source", make_method("source", context), context);
  const double difference = 1.2;

  GradientProbe probe(1);
  probe.look(adapter, testing::two_class_images({difference, 0}), benign_plan(),
             0);
  Series series;
  probe.fill(series);

  // H(d) of logits (d, 0) has dH/dd = -d p (1-p); d depends on the first scale
  // (by the pixel, d/4) and on both shifts (by 1 and -1).
  const double p = 1 / (1 + std::exp(-difference));
  const double slope = difference * p * (1 - p);
  const double pixel = difference / testing::kLinearScale;
  EXPECT_NEAR(series.at("gradient_norm_samples").at(0),
              slope * std::sqrt(pixel * pixel + 2), 1e-4);
  EXPECT_TRUE(std::isnan(series.at("gradient_norm_foreign").at(0)));
}

// The norm for one image at a state, with the running statistics.
double gradient_norm(const Classifier& model, const ModelState& state,
                     const at::Tensor& image) {
  ModelState probe = state;
  probe.affine = as_leaf(state.affine);
  const at::Tensor log_p =
      model.forward(image.unsqueeze(0), probe, NormStats::running())
          .logits.log_softmax(1);
  const at::Tensor loss = -(log_p.exp() * log_p).sum();
  return gradient_of(loss, probe.affine).norm().item<double>();
}

// A network with norm layers, adapted a little: statistics and state matter.
TEST(GradientProbe, AsksTheAdaptedNetworkWithItsRunningStatistics) {
  ResNetSpec spec;
  spec.widths = {4, 8};
  spec.blocks = {1, 1};
  spec.channels = 1;
  const std::shared_ptr<const Classifier> model =
      make_resnet(spec, random_resnet_state(spec, Rng(5)), {{0.5}, {0.2}});
  Rng rng(8);
  const at::Tensor images =
      (random_uniform(rng, {8, 1, 8, 8}) * 255).to(at::kByte);
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"clean",
       std::make_shared<TensorDataset>(
           LabelledImages{images, at::zeros({8}, at::kLong)}, 10, "test")}};
  StreamOptions options;
  options.scenario = "noise";
  options.window = 8;
  options.seed = 5;
  const StreamPlan plan(options, sources);
  ASSERT_NE(plan[0].benign(), plan[8].benign());
  MethodContext context;
  context.model = model;
  context.update_interval = 8;
  Adapter adapter(
      "sotta",
      make_method("sotta", context, Preset::kClean,
                  {{"min_confidence", 0.0}, {"learning_rate", 0.1}}),
      context);
  adapter.step(images);
  ASSERT_FALSE(adapter.state().affine.equal(model->source().affine));

  GradientProbe probe(2);
  probe.look(adapter, images, plan, 8);  // the second window
  Series series;
  probe.fill(series);

  double sums[2] = {0, 0};
  int64_t counts[2] = {0, 0};
  for (int64_t i = 0; i < 8; ++i) {
    const int kind = plan[8 + i].benign() ? 0 : 1;
    if (counts[kind] == 2) continue;
    ++counts[kind];
    sums[kind] += gradient_norm(*model, adapter.state(), images[i]);
  }
  EXPECT_NEAR(series.at("gradient_norm_samples").at(0), sums[0] / 2, 1e-4);
  EXPECT_NEAR(series.at("gradient_norm_foreign").at(0), sums[1] / 2, 1e-4);
  // The source network would say something else.
  EXPECT_GT(std::abs(gradient_norm(*model, adapter.state(), images[0]) -
                     gradient_norm(*model, model->source(), images[0])),
            1e-3);
}

TEST(GradientProbe, LooksAtNothingUnlessAsked) {
  Series series;
  GradientProbe(0).fill(series);
  EXPECT_TRUE(series.empty());
}

}  // namespace
}  // namespace sotta
