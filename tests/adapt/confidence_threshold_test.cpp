#include "adapt/methods/confidence_threshold.h"

#include <cmath>
#include <memory>
#include <vector>

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"
#include "tests/support/linear_classifier.h"

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

// Of n images with confidences sigmoid(0.1), sigmoid(0.2), ..., the place of
// the threshold, counted from 0.
int64_t place_of_threshold(int64_t n) {
  MethodContext context;
  context.model =
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
  std::vector<double> differences;
  for (int64_t i = n; i > 0; --i)
    differences.push_back(0.1 * static_cast<double>(i));
  context.source_images = testing::two_class_images(differences);
  const double threshold = automatic_threshold(context);
  const double difference = std::log(threshold / (1 - threshold));
  return std::llround(10 * difference) - 1;
}

TEST(ConfidenceThreshold, IsTheGreatestThatFourFifthsOfTheImagesReach) {
  EXPECT_EQ(place_of_threshold(1), 0);
  EXPECT_EQ(place_of_threshold(4), 0);  // three of four would be too few
  EXPECT_EQ(place_of_threshold(5), 1);  // four of five
  EXPECT_EQ(place_of_threshold(9), 1);
  EXPECT_EQ(place_of_threshold(10), 2);
  EXPECT_EQ(place_of_threshold(14), 2);
  EXPECT_EQ(place_of_threshold(15), 3);
  EXPECT_EQ(place_of_threshold(25), 5);
  EXPECT_EQ(place_of_threshold(70), 14);  // more than one batch
}

TEST(ConfidenceThreshold, FallsNoLowerThanOneAndAHalfTimesChance) {
  EXPECT_NEAR(threshold_for_classes(5000), 1.32 - 0.33 * 3.69897000434, 1e-9);
  EXPECT_DOUBLE_EQ(threshold_for_classes(100000), 1.5 / 100000);
  EXPECT_DOUBLE_EQ(threshold_for_classes(1), 0.99);
}

TEST(ConfidenceThreshold, NeedsAnImageIfItIsGivenAny) {
  MethodContext context;
  context.model = testing::golden_network();
  context.source_images = at::empty({0, 3, 16, 16}, at::kByte);
  EXPECT_THROW(automatic_threshold(context), Error);
}

}  // namespace
}  // namespace sotta
