#include "eval/gradient_probe.h"

#include <cmath>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

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

TEST(GradientProbe, LooksAtNothingUnlessAsked) {
  Series series;
  GradientProbe(0).fill(series);
  EXPECT_TRUE(series.empty());
}

}  // namespace
}  // namespace sotta
