#include "sotta/adapt/method.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Observed, GivesEverySampleTheSameVerdict) {
  const at::Tensor logits = at::ones({3, 2});

  const Observation seen =
      observed(logits, classify(logits), Verdict::kPending);

  EXPECT_TRUE(seen.logits.is_same(logits));
  EXPECT_EQ(seen.prediction.labels.numel(), 3);
  EXPECT_EQ(seen.verdicts, std::vector<Verdict>(3, Verdict::kPending));
}

TEST(NotFinite, LearntNothingFromAnySample) {
  const UpdateReport report = not_finite(3);
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the window's logits are not finite");
  EXPECT_EQ(report.verdicts, std::vector<Verdict>(3, Verdict::kNotFinite));
}

}  // namespace
}  // namespace sotta
