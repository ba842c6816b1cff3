#include <string>

#include <ATen/TensorOperators.h>

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::golden_stream;
using testing::number;

// So that every sample is learnt from, and nothing but the step changes
// parameters.
OptionMap open_options(const std::string& method) {
  if (method == "sotta") return {{"min_confidence", 0.0}};
  if (method == "cotta")
    return {{"augmentations", int64_t{2}}, {"restore_probability", 0.0}};
  if (method == "sar") return {{"entropy_margin", 10.0}};
  if (method == "eata")
    return {{"entropy_margin", 10.0},
            {"redundancy_margin", 10.0},
            {"fisher_weight", 0.0}};
  return {};
}

std::unique_ptr<Adapter> make(const std::string& method,
                              bool measure_loss_after = false) {
  MethodContext context;
  context.model = testing::golden_network();
  context.rng = Rng(3);
  context.update_interval = 16;
  context.measure_loss_after = measure_loss_after;
  return make_adapter(method, context, Preset::kClean, open_options(method));
}

at::Tensor trained(const Adapter& adapter) {
  return adapter.method().trained_state().affine.clone();
}

class LearningMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(LearningMethod, ReportsWhatAnUpdateDid) {
  const auto adapter = make(GetParam());
  for (int64_t window = 0; window < 2; ++window) {
    const at::Tensor before = trained(*adapter);
    const auto result =
        adapter->step(golden_stream().slice(0, 16 * window, 16 * (window + 1)));

    ASSERT_EQ(result.updates.size(), 1u);
    const UpdateReport& report = result.updates[0];
    EXPECT_TRUE(report.applied);
    EXPECT_EQ(report.skipped, "");
    EXPECT_EQ(adapter->updates(), window + 1);
    EXPECT_GT(number(report.loss), 0);
    EXPECT_GT(number(report.gradient_norm), 0);
    const double change = number((trained(*adapter) - before).norm());
    EXPECT_GT(change, 0);
    EXPECT_NEAR(number(report.parameter_change), change, 1e-5 * change);
    EXPECT_FALSE(report.loss_after.defined());
  }
}

TEST_P(LearningMethod, MeasuresTheLossAfterAStepOnlyIfItIsAsked) {
  const auto plain = make(GetParam());
  const auto measuring = make(GetParam(), true);
  const at::Tensor images = golden_stream().slice(0, 0, 16);
  const UpdateReport expected = plain->step(images).updates[0];
  const UpdateReport report = measuring->step(images).updates[0];

  EXPECT_TRUE(report.applied);
  EXPECT_EQ(number(report.loss), number(expected.loss));
  ASSERT_TRUE(report.loss_after.defined());
  EXPECT_FALSE(report.loss_after.requires_grad());
  EXPECT_NE(number(report.loss_after), number(report.loss));
  EXPECT_TRUE(trained(*measuring).equal(trained(*plain)));
}

TEST_P(LearningMethod, OnlySharpnessStepsReportAPerturbation) {
  const bool sharp = GetParam() == "sar" || GetParam() == "sotta";
  const auto adapter = make(GetParam());
  const UpdateReport report =
      adapter->step(golden_stream().slice(0, 0, 16)).updates[0];
  EXPECT_EQ(report.perturbed_loss.defined(), sharp);
  EXPECT_EQ(report.perturbation_norm.defined(), sharp);
  if (!sharp) return;
  EXPECT_NEAR(number(report.perturbation_norm), 0.05, 1e-5);
  EXPECT_GT(number(report.perturbed_loss), number(report.loss));
}

TEST_P(LearningMethod, AdmitsWhatItLearntFrom) {
  const auto adapter = make(GetParam());
  const auto result = adapter->step(golden_stream().slice(0, 0, 32));
  EXPECT_EQ(result.verdicts, std::vector<Verdict>(32, Verdict::kAdmitted));
}

INSTANTIATE_TEST_SUITE_P(All, LearningMethod,
                         ::testing::Values("pseudo_label", "tent", "cotta",
                                           "eata", "sar", "rotta", "sotta"));

class FixedPrediction : public ::testing::TestWithParam<std::string> {};

TEST_P(FixedPrediction, ReportsThatNothingWasLearnt) {
  const auto adapter = make(GetParam(), true);
  const auto result = adapter->step(golden_stream().slice(0, 0, 32));
  ASSERT_EQ(result.updates.size(), 2u);
  for (const UpdateReport& report : result.updates) {
    EXPECT_FALSE(report.applied);
    EXPECT_EQ(report.skipped, "the method does not adapt");
    EXPECT_FALSE(report.loss.defined());
    EXPECT_FALSE(report.loss_after.defined());
    EXPECT_FALSE(report.gradient_norm.defined());
    EXPECT_FALSE(report.parameter_change.defined());
  }
  EXPECT_EQ(adapter->updates(), 0);
  EXPECT_EQ(adapter->samples(), 32);
}

INSTANTIATE_TEST_SUITE_P(All, FixedPrediction,
                         ::testing::Values("source", "bn_stats", "lame"));

}  // namespace
}  // namespace sotta
