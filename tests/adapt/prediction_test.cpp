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

TEST(Prediction, SaysWhatIsNotFinite) {
  const float nan = std::nanf(""), infinity = INFINITY;
  const at::Tensor logits = at::tensor({1.f, 2.f, nan, 0.f, infinity, 0.f, 0.f,
                                        nan, -infinity, -infinity})
                                .view({5, 2});
  const Prediction prediction = classify(logits);
  EXPECT_TRUE(is_finite(prediction, 0));
  for (int64_t i = 1; i < 5; ++i)
    EXPECT_FALSE(is_finite(prediction, i)) << i;
  EXPECT_FALSE(all_finite(prediction));
  EXPECT_FALSE(all_finite(classify(logits.slice(0, 0, 2))));
  EXPECT_FALSE(all_finite(classify(logits.slice(0, 4, 5))));
  EXPECT_TRUE(all_finite(classify(logits.slice(0, 0, 1))));
}

}  // namespace
}  // namespace sotta
