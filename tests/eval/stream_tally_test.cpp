#include "eval/stream_tally.h"

#include <algorithm>
#include <cmath>
#include <map>

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

// Ten images of three classes and seven of noise in windows of four: mixed
// windows, and a last one of a single sample.
StreamPlan uneven_plan() {
  StreamOptions options;
  options.scenario = "noise";
  options.foreign_count = 7;
  options.window = 4;
  options.seed = 1;
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"clean", std::make_shared<TensorDataset>(
                    LabelledImages{
                        at::zeros({10, 1, 8, 8}, at::kByte),
                        at::tensor({0, 1, 2, 0, 0, 1, 0, 0, 2, 0}, at::kLong)},
                    3, "test")}};
  return StreamPlan(options, sources);
}

// What was made of a sample: no two alike, and right for most of the own ones.
struct Made {
  int64_t predicted;
  float confidence;
  bool admitted;
};

Made made_of(const StreamPlan& plan, int64_t i) {
  const bool right = plan[i].benign() && i % 3 != 0;
  return {right ? plan[i].label : i % 3, 0.313f + 0.04f * static_cast<float>(i),
          i % 5 < 3};
}

StepResult uneven_step(const StreamPlan& plan, int64_t begin, int64_t end) {
  std::vector<float> confidences;
  std::vector<int64_t> labels;
  StepResult result;
  for (int64_t i = begin; i < end; ++i) {
    const Made made = made_of(plan, i);
    confidences.push_back(made.confidence);
    labels.push_back(made.predicted);
    result.verdicts.push_back(made.admitted ? Verdict::kAdmitted
                                            : Verdict::kLowConfidence);
  }
  result.prediction.confidences = at::tensor(confidences);
  result.prediction.labels = at::tensor(labels, at::kLong);
  return result;
}

RunRecord uneven_record(const StreamPlan& plan) {
  StreamTally tally(3);
  for (int64_t begin = 0; begin < plan.size(); begin += 4)
    tally.add(uneven_step(plan, begin, std::min(begin + 4, plan.size())), plan,
              begin);
  RunRecord record;
  tally.fill(record);
  EXPECT_DOUBLE_EQ(tally.accuracy(), record.accuracy);
  return record;
}

TEST(StreamTally, CountsTargetAndForeignSamplesApart) {
  const StreamPlan plan = uneven_plan();
  const RunRecord record = uneven_record(plan);

  int64_t correct = 0, admitted = 0, admitted_foreign = 0;
  std::vector<double> own(3), foreign(3), own_bins(20), foreign_bins(20);
  for (int64_t i = 0; i < plan.size(); ++i) {
    const Made made = made_of(plan, i);
    const bool is_own = plan[i].benign();
    const auto bin = static_cast<size_t>(made.confidence * 20);
    correct += is_own && made.predicted == plan[i].label ? 1 : 0;
    (is_own ? admitted : admitted_foreign) += made.admitted ? 1 : 0;
    ++(is_own ? own : foreign)[static_cast<size_t>(made.predicted)];
    ++(is_own ? own_bins : foreign_bins)[bin];
  }
  ASSERT_GT(correct, 5);
  ASSERT_LT(correct, 10);
  EXPECT_EQ(record.samples, 10);
  EXPECT_EQ(record.correct, correct);
  EXPECT_DOUBLE_EQ(record.accuracy, 10.0 * static_cast<double>(correct));
  EXPECT_EQ(record.foreign, 7);
  EXPECT_EQ(record.admitted, admitted);
  EXPECT_EQ(record.admitted_foreign, admitted_foreign);
  EXPECT_EQ(record.series.at("predicted_samples"), own);
  EXPECT_EQ(record.series.at("predicted_foreign"), foreign);
  EXPECT_EQ(record.series.at("confidence_samples"), own_bins);
  EXPECT_EQ(record.series.at("confidence_foreign"), foreign_bins);
}

TEST(StreamTally, AWindowsFiguresAreOfItsOwnSamplesAlone) {
  const StreamPlan plan = uneven_plan();
  const RunRecord record = uneven_record(plan);
  ASSERT_EQ(record.series.at("accuracy").size(), 5u);

  bool mixed = false;
  for (int64_t begin = 0; begin < plan.size(); begin += 4) {
    double own = 0, correct = 0, foreign = 0, admitted = 0,
           admitted_foreign = 0;
    for (int64_t i = begin; i < std::min(begin + 4, plan.size()); ++i) {
      const Made made = made_of(plan, i);
      ++(plan[i].benign() ? own : foreign);
      (plan[i].benign() ? admitted : admitted_foreign) += made.admitted;
      correct += plan[i].benign() && made.predicted == plan[i].label;
    }
    const auto window = static_cast<size_t>(begin / 4);
    const auto at = [&](const char* name) {
      return record.series.at(name).at(window);
    };
    EXPECT_EQ(at("samples"), own);
    EXPECT_EQ(at("foreign"), foreign);
    EXPECT_EQ(at("admitted"), admitted);
    EXPECT_EQ(at("admitted_foreign"), admitted_foreign);
    if (own > 0) {
      EXPECT_DOUBLE_EQ(at("accuracy"), 100 * correct / own);
    } else {
      EXPECT_TRUE(std::isnan(at("accuracy")));
    }
    mixed = mixed || (own > 0 && foreign > 0 && correct < own);
  }
  EXPECT_TRUE(mixed);
}

TEST(StreamTally, TakesSharesAndScoresFromTheRightSamples) {
  const StreamPlan plan = uneven_plan();
  const RunRecord record = uneven_record(plan);

  // Confidences differ from sample to sample, hardly two fall in one bin.
  std::map<int, double> gaps;
  double won = 0, passed = 0;
  float least = 1;
  for (int64_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].benign()) continue;
    const Made made = made_of(plan, i);
    const double right = made.predicted == plan[i].label ? 1 : 0;
    gaps[static_cast<int>(std::ceil(made.confidence * 15))] +=
        static_cast<double>(made.confidence) - right;
    least = std::min(least, made.confidence);
    for (int64_t j = 0; j < plan.size(); ++j)
      won += !plan[j].benign() && made.confidence > made_of(plan, j).confidence;
  }
  for (int64_t j = 0; j < plan.size(); ++j)
    passed += !plan[j].benign() && made_of(plan, j).confidence >= least;
  double gap = 0;
  for (const auto& [bin, sum] : gaps)
    gap += std::abs(sum);
  EXPECT_NEAR(record.calibration_error, 100 * gap / 10, 1e-4);
  EXPECT_NEAR(record.auroc, 100 * won / 70, 1e-9);
  EXPECT_NEAR(record.fpr95, 100 * passed / 7, 1e-9);  // of ten all must pass
}

// Three of four right at one confidence: 92 - 75, not 92 - 25.
TEST(StreamTally, CalibrationKnowsRightFromWrong) {
  const StreamPlan plan = small_plan("benign");
  StepResult result = step_of(plan, 0, 4);
  for (int64_t i = 0; i < 4; ++i)
    result.prediction.labels[i] = i == 2 ? 1 - plan[i].label : plan[i].label;
  StreamTally tally(2);
  tally.add(result, plan, 0);
  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.correct, 3);
  EXPECT_NEAR(record.calibration_error, 17, 1e-4);
  // Classes are hit 2 of 2 and 1 of 2 times: F1 4/5 and 2/3.
  EXPECT_NEAR(record.macro_f1, 100 * (0.8 + 2.0 / 3) / 2, 1e-9);
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

TEST(StreamTally, OfSeveralUpdatesTheLastCounts) {
  const StreamPlan plan = small_plan("benign");
  StepResult result = step_of(plan, 0, 4);
  UpdateReport first, last;
  first.loss = at::tensor(0.5);
  first.gradient_norm = at::tensor(3.0);
  last.loss = at::tensor(0.25);
  last.gradient_norm = at::tensor(1.5);
  result.updates = {first, last};
  StreamTally tally(2);
  tally.add(result, plan, 0);
  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.series.at("loss"), (std::vector<double>{0.25}));
  EXPECT_EQ(record.series.at("gradient_norm"), (std::vector<double>{1.5}));
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

// A guard trips in the second window, and the source model answers in the
// third.
TEST(StreamTally, CountsWhatGuardsDidInEveryWindow) {
  const StreamPlan plan = small_plan("noise");
  UpdateReport kept, undone;
  kept.applied = true;
  undone.guard = "trouble; reset";
  StreamTally tally(2), unguarded(2);
  StepResult window = step_of(plan, 0, 4);
  window.updates = {kept};
  tally.add(window, plan, 0);
  unguarded.add(window, plan, 0);
  window.updates = {undone};
  tally.add(window, plan, 0);
  window.updates = {kept};
  window.by_source = 4;
  tally.add(window, plan, 4);

  RunRecord record;
  tally.fill(record);
  EXPECT_EQ(record.series.at("by_source"), (std::vector<double>{0, 0, 4}));
  EXPECT_EQ(record.series.at("guard_trips"), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(record.series.at("updates"), (std::vector<double>{1, 0, 1}));
  RunRecord plain;
  unguarded.fill(plain);
  EXPECT_EQ(plain.series.count("by_source"), 0u);
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

// Four images that belong, with scores 0, 1, 2, 3, and four of noise, with
// 2.5, 2.5, 2.5 and -1: of the 16 pairs noise is more foreign in 9.
TEST(StreamTally, MeasuresAScreensScoresAndItsGate) {
  const StreamPlan plan = small_plan("noise");
  StreamTally tally(2);
  float own = 0;
  int64_t noise = 0;
  for (int64_t begin = 0; begin < 8; begin += 4) {
    StepResult result = step_of(plan, begin, begin + 4);
    for (int64_t i = begin; i < begin + 4; ++i)
      result.screening.scores.push_back(plan[i].benign() ? own++
                                        : noise++ < 3    ? 2.5F
                                                         : -1.F);
    result.screening.gate.closed = begin > 0;
    result.screening.gate.gap = static_cast<double>(begin);
    if (begin > 0) result.screening.gate.information = 0.5;
    tally.add(result, plan, begin);
  }
  RunRecord record;
  tally.fill(record);
  EXPECT_DOUBLE_EQ(record.screen_auroc, 100.0 * 9 / 16);
  // 95 % of the four are all of them: those up to 3 pass, and so does noise.
  EXPECT_DOUBLE_EQ(record.screen_fpr95, 100);
  EXPECT_EQ(record.series.at("screen_closed"), (std::vector<double>{0, 1}));
  EXPECT_EQ(record.series.at("screen_gap"), (std::vector<double>{0, 4}));
  EXPECT_TRUE(std::isnan(record.series.at("screen_information")[0]));
  EXPECT_EQ(record.series.at("screen_information")[1], 0.5);
  EXPECT_TRUE(std::isnan(record.series.at("screen_drift")[1]));
}

TEST(StreamTally, HasNoFiguresOfAScreenThatIsNotThereOrSaysNoNumber) {
  const StreamPlan plan = small_plan("noise");
  StreamTally without(2), broken(2);
  for (int64_t begin = 0; begin < 8; begin += 4) {
    StepResult result = step_of(plan, begin, begin + 4);
    without.add(result, plan, begin);
    result.screening.scores = {0, 1, std::nanf(""), 2};
    broken.add(result, plan, begin);
  }
  RunRecord record;
  without.fill(record);
  EXPECT_TRUE(std::isnan(record.screen_auroc));
  EXPECT_TRUE(std::isnan(record.screen_fpr95));
  EXPECT_EQ(record.series.count("screen_closed"), 0U);
  broken.fill(record);
  EXPECT_TRUE(std::isnan(record.screen_auroc));
  EXPECT_TRUE(std::isnan(record.screen_fpr95));
}

}  // namespace
}  // namespace sotta
