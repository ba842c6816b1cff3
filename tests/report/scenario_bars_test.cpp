#include <gtest/gtest.h>

#include "report/figures/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::occurrences;
using testing::run;

RunRecord with_foreign(RunRecord record) {
  record.foreign = record.samples;
  return record;
}

TEST(ScenarioBars, NoisyIsTheMeanOfTheScenariosWithForeignSamples) {
  const std::vector<RunRecord> records = {
      run("tent", "benign", "fog", 0, 80),
      with_foreign(run("tent", "noise", "fog", 0, 50)),
      with_foreign(run("tent", "near", "fog", 0, 70)),
      run("sotta", "benign", "fog", 0, 82)};
  const auto figures = scenario_bars(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  const std::string& svg = figures[0].svg;
  EXPECT_EQ(testing::XmlCheck::problem(svg), "");
  EXPECT_EQ(occurrences(svg, ">80.0<"), 1);
  EXPECT_EQ(occurrences(svg, ">60.0<"), 1);
  EXPECT_EQ(occurrences(svg, ">not run<"), 1);
  EXPECT_EQ(occurrences(svg, "Clean (Benign)"), 1);
  EXPECT_EQ(occurrences(svg, "Noisy (mean of Near, Noise)"), 1);
}

TEST(ScenarioBars, NeedBothKindsOfStream) {
  const std::vector<RunRecord> benign = {run("tent", "benign", "fog", 0, 80)};
  const std::vector<RunRecord> noise = {
      with_foreign(run("tent", "noise", "fog", 0, 80))};
  EXPECT_TRUE(scenario_bars(group_runs(benign).at(0)).empty());
  EXPECT_TRUE(scenario_bars(group_runs(noise).at(0)).empty());
}

TEST(ScenarioBars, OnlyWhatIsPartialIsMarkedAndExplained) {
  std::vector<RunRecord> records = {
      run("tent", "benign", "fog", 0, 80),
      with_foreign(run("tent", "noise", "fog", 0, 50))};
  const auto figure = [&] {
    return scenario_bars(group_runs(records).at(0)).at(0);
  };
  EXPECT_EQ(figure().caption,
            "Average accuracy with the standard deviation over seeds.");
  EXPECT_EQ(occurrences(figure().svg, ">50.0<"), 1);
  EXPECT_EQ(occurrences(figure().svg, "Noisy (Noise)"), 1);
  records.push_back(run("sotta", "benign", "fog", 0, 82));
  records.push_back(with_foreign(run("sotta", "noise", "snow", 0, 70)));
  EXPECT_EQ(figure().caption,
            "Average accuracy with the standard deviation over seeds. *: not "
            "all that the average is over was run.");
  EXPECT_EQ(occurrences(figure().svg, ">50.0*<"), 1);
}

}  // namespace
}  // namespace sotta
