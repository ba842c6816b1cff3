#include "eval/stream_tally.h"

#include <cmath>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/data/dataset.h"

namespace sotta {
namespace {

// Four images of two classes with four of noise between, in windows of four.
StreamPlan small_plan(const std::string& scenario) {
  StreamOptions options;
  options.scenario = scenario;
  options.window = 4;
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"clean", std::make_shared<TensorDataset>(
                    LabelledImages{at::zeros({4, 1, 8, 8}, at::kByte),
                                   at::tensor({0, 1, 0, 1}, at::kLong)},
                    2, "test")}};
  return StreamPlan(options, sources);
}

// A prediction of class 0 for all, with confidence 0.92 for target samples
// and 0.62 for foreign ones.
StepResult step_of(const StreamPlan& plan, int64_t begin, int64_t end) {
  std::vector<float> confidences;
  StepResult result;
  for (int64_t i = begin; i < end; ++i) {
    confidences.push_back(plan[i].benign() ? 0.92f : 0.62f);
    result.verdicts.push_back(plan[i].benign() ? Verdict::kAdmitted
                                               : Verdict::kLowConfidence);
  }
  result.prediction.confidences = at::tensor(confidences);
  result.prediction.labels = at::zeros({end - begin}, at::kLong);
  return result;
}

TEST(StreamTally, CountsTargetAndForeignSamplesApart) {
  const StreamPlan plan = small_plan("noise");
  ASSERT_EQ(plan.size(), 8);
  StreamTally tally(2);
  tally.add(step_of(plan, 0, 4), plan, 0);
  tally.add(step_of(plan, 4, 8), plan, 4);
  EXPECT_DOUBLE_EQ(tally.accuracy(), 50);

  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.samples, 4);
  EXPECT_EQ(record.correct, 2);
  EXPECT_DOUBLE_EQ(record.accuracy, 50);
  EXPECT_EQ(record.foreign, 4);
  EXPECT_EQ(record.admitted, 4);
  EXPECT_EQ(record.admitted_foreign, 0);
  EXPECT_DOUBLE_EQ(record.auroc, 100);
  EXPECT_DOUBLE_EQ(record.fpr95, 0);
  // Class 0: precision 1/2, recall 1; class 1: never predicted.
  EXPECT_NEAR(record.macro_f1, 100 * (2.0 / 3) / 2, 1e-9);
  EXPECT_NEAR(record.calibration_error, 42, 1e-5);
  EXPECT_EQ(record.series.at("confidence_samples")[18], 4);
  EXPECT_EQ(record.series.at("confidence_foreign")[12], 4);
  EXPECT_EQ(record.series.at("predicted_foreign"), (std::vector<double>{4, 0}));
}

TEST(StreamTally, KeepsACurvePerWindow) {
  const StreamPlan plan = small_plan("benign");
  StepResult result = step_of(plan, 0, 4);
  UpdateReport update;
  update.loss = at::tensor(0.5);
  result.updates = {update};
  StreamTally tally(2);
  tally.add(result, plan, 0);

  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.series.at("accuracy"), (std::vector<double>{50}));
  EXPECT_EQ(record.series.at("samples"), (std::vector<double>{4}));
  EXPECT_EQ(record.series.at("foreign"), (std::vector<double>{0}));
  EXPECT_EQ(record.series.at("admitted"), (std::vector<double>{4}));
  EXPECT_EQ(record.series.at("loss"), (std::vector<double>{0.5}));
  EXPECT_TRUE(std::isnan(record.series.at("gradient_norm").at(0)));
  EXPECT_TRUE(std::isnan(record.auroc));
}

TEST(StreamTally, CountsWhatAMemoryHoldsByKind) {
  const StreamPlan plan = small_plan("noise");
  std::vector<int64_t> benign, foreign;
  for (int64_t i = 0; i < plan.size(); ++i)
    (plan[i].benign() ? benign : foreign).push_back(i);
  StreamTally tally(2);
  tally.add(step_of(plan, 0, 4), plan, 0, {foreign[0]});
  tally.add(step_of(plan, 4, 8), plan, 4, {benign[0], foreign[1], benign[3]});

  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.series.at("memory_samples"), (std::vector<double>{0, 2}));
  EXPECT_EQ(record.series.at("memory_foreign"), (std::vector<double>{1, 1}));
}

TEST(StreamTally, WithoutAMemoryThereIsNoSeriesOfIt) {
  const StreamPlan plan = small_plan("noise");
  StreamTally tally(2);
  tally.add(step_of(plan, 0, 4), plan, 0);
  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.series.count("memory_samples"), 0u);
  EXPECT_EQ(record.series.count("memory_foreign"), 0u);
}

TEST(StreamTally, WindowsWithoutAnUpdateHaveNoLoss) {
  const StreamPlan plan = small_plan("noise");
  StepResult second = step_of(plan, 4, 8);
  UpdateReport update;
  update.loss = at::tensor(2.0);
  second.updates = {update};
  StreamTally tally(2);
  tally.add(step_of(plan, 0, 4), plan, 0);
  tally.add(second, plan, 4);

  RunRecord record;
  tally.fill(record);
  EXPECT_TRUE(std::isnan(record.series.at("loss").at(0)));
  EXPECT_EQ(record.series.at("loss").at(1), 2);
}

}  // namespace
}  // namespace sotta
