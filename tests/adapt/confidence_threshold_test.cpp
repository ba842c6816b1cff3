#include "sotta/adapt/confidence_threshold.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

TEST(ConfidenceThreshold, EqualsThePapersForItsThreeDatasets) {
  EXPECT_NEAR(threshold_for_classes(10), 0.99, 1e-12);
  EXPECT_NEAR(threshold_for_classes(100), 0.66, 1e-12);
  EXPECT_NEAR(threshold_for_classes(1000), 0.33, 1e-12);
}

TEST(ConfidenceThreshold, StaysBetweenChanceAndCertainty) {
  EXPECT_EQ(threshold_for_classes(2), 0.99);
  EXPECT_GT(threshold_for_classes(100000), 1.0 / 100000);
  for (int64_t classes = 2; classes < 100000; classes *= 3)
    EXPECT_GE(threshold_for_classes(classes),
              threshold_for_classes(classes * 3));
}

TEST(ConfidenceThreshold, FollowsTheSourceModelOnItsOwnImages) {
  MethodContext context;
  context.model = testing::golden_network();
  EXPECT_EQ(automatic_threshold(context), threshold_for_classes(5));

  context.source_images = testing::Golden("methods/stream")["fisher_clean"];
  const at::Tensor confidences =
      classify(context.model
                   ->forward(context.source_images, context.model->source(),
                             NormStats::running())
                   .logits)
          .confidences;
  const double threshold = automatic_threshold(context);
  // A fifth of 24, rounded down, lies below it.
  const at::Tensor sorted = std::get<0>(confidences.sort());
  EXPECT_EQ(threshold, sorted[4].item<double>());
  EXPECT_LT(sorted[3].item<double>(), threshold);
  EXPECT_EQ(confidences.ge(threshold).sum().item<int64_t>(), 20);
}

TEST(ConfidenceThreshold, NeedsAnImageIfItIsGivenAny) {
  MethodContext context;
  context.model = testing::golden_network();
  context.source_images = at::empty({0, 3, 16, 16}, at::kByte);
  EXPECT_THROW(automatic_threshold(context), Error);
}

}  // namespace
}  // namespace sotta
