#include "sotta/adapt/prediction.h"

#include <cmath>

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Logits ln 3 and 0: probabilities 3/4 and 1/4.
TEST(Prediction, ReadsLabelConfidenceAndEntropyOffTheLogits) {
  const at::Tensor logits =
      at::tensor({0.0, std::log(3.0), 0.0, 0.0}, at::kFloat).view({2, 2});
  const Prediction prediction = classify(logits);

  EXPECT_EQ(prediction.labels[0].item<int64_t>(), 1);
  EXPECT_NEAR(prediction.confidences[0].item<double>(), 0.75, 1e-6);
  EXPECT_NEAR(prediction.entropies[0].item<double>(),
              -0.75 * std::log(0.75) - 0.25 * std::log(0.25), 1e-5);
  EXPECT_NEAR(prediction.entropies[1].item<double>(), std::log(2.0), 1e-5);
}

}  // namespace
}  // namespace sotta
