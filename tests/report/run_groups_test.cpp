#include "report/run_groups.h"

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;
using testing::with_option;
using testing::with_variant;
using Names = std::vector<std::string>;

Names labels(const RunGroup& group) {
  Names names;
  for (const RunRow& row : group.rows)
    names.push_back(row.label());
  return names;
}

TEST(RunGroups, OnePerDatasetAndPreset) {
  auto other = run("tent", "benign", "fog", 0, 80);
  other.preset = "paper";
  auto mnist = run("tent", "benign", "fog", 0, 80);
  mnist.dataset = "mnist";
  const std::vector<RunRecord> records = {mnist, other,
                                          run("tent", "noise", "fog", 0, 80)};
  const auto groups = group_runs(records);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].label(), "cifar10, preset clean");
  EXPECT_EQ(groups[1].label(), "cifar10, preset paper");
  EXPECT_EQ(groups[2].label(), "mnist, preset clean");
}

TEST(RunGroups, RowsByMethodVariantAndWhatWasTriedOut) {
  const auto base = with_option(run("sotta", "noise", "fog", 0, 80), "m", 0.2);
  auto second = base;
  second.seed = 1;
  const std::vector<RunRecord> records = {
      with_option(base, "m", 0.5),  base,
      with_option(base, "m", 0.05), second,
      with_variant(base, "ESM"),    run("tent", "noise", "fog", 0, 50)};
  const auto groups = group_runs(records);
  EXPECT_EQ(labels(groups.at(0)), (Names{"TENT", "SoTTA", "SoTTA (m 0.05)",
                                         "SoTTA (m 0.5)", "SoTTA, ESM"}));
  EXPECT_TRUE(groups[0].rows[1].is_main);
  EXPECT_FALSE(groups[0].rows[2].is_main);
  EXPECT_EQ(groups[0].rows[1].in("noise").at("fog").size(), 2u);
  EXPECT_TRUE(groups[0].rows[1].in("near").empty());
}

TEST(RunGroups, TheUsualSettingMayBeThatAnOptionIsMissing) {
  const auto base = run("sotta", "noise", "fog", 0, 80);
  std::vector<RunRecord> records = {
      with_option(base, "precision", std::string("bf16"))};
  for (const int64_t seed : {0, 1, 2}) {
    records.push_back(base);
    records.back().seed = seed;
  }
  const auto groups = group_runs(records);
  EXPECT_EQ(labels(groups.at(0)), (Names{"SoTTA", "SoTTA (precision bf16)"}));
  EXPECT_TRUE(groups[0].rows[0].is_main);
  EXPECT_FALSE(groups[0].rows[1].is_main);
}

TEST(RunGroups, EquallyFrequentSettingsAreAllNamed) {
  const auto base = with_option(run("sotta", "noise", "fog", 0, 80), "m", 0.2);
  const std::vector<RunRecord> records = {base, with_option(base, "m", 0.1)};
  EXPECT_EQ(labels(group_runs(records).at(0)),
            (Names{"SoTTA (m 0.1)", "SoTTA (m 0.2)"}));
}

TEST(RunGroups, AnEmptyValueIsNoTie) {
  const auto base =
      with_option(run("sotta", "far", "fog", 0, 80), "foreign", std::string());
  const std::vector<RunRecord> records = {
      base, with_option(base, "foreign", std::string("mnist:test")),
      with_option(base, "foreign", std::string("svhn:test"))};
  for (const std::string& label : labels(group_runs(records).at(0)))
    EXPECT_NE(label, "SoTTA");
}

TEST(RunGroups, WithoutUsualSettingsEveryOneStandsForTheMethod) {
  const auto base = with_option(run("sotta", "attack", "fog", 0, 80), "attack",
                                std::string("paper"));
  const std::vector<RunRecord> records = {
      base, with_option(base, "attack", std::string("surrogate")),
      with_variant(base, "ESM")};
  const auto groups = group_runs(records);
  const auto& rows = groups.at(0).rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].label(), "SoTTA (attack paper)");
  EXPECT_TRUE(rows[0].is_main);
  EXPECT_TRUE(rows[1].is_main);
  EXPECT_FALSE(rows[2].is_main);
  EXPECT_EQ(rows[1].file_label(), "sotta-attack surrogate");
}

TEST(RunGroups, LabelsAreTheRecordsOwnOrElseThePapers) {
  RunRecord mine = run("mine", "fire", "rust", 0, 80);
  mine.method_label = "My method";
  mine.scenario_label = "Fire";
  mine.corruption_label = "Rust";
  const std::vector<RunRecord> records = {
      mine, run("mine", "fire", "rust", 1, 80),
      run("tent", "near", "fog", 0, 80), run("other", "water", "dust", 0, 80)};
  const RunGroup group = group_runs(records).at(0);
  EXPECT_EQ(labels(group), (Names{"TENT", "My method", "other"}));
  EXPECT_EQ(group.scenario_label("fire"), "Fire");
  EXPECT_EQ(group.scenario_label("near"), "Near");
  EXPECT_EQ(group.scenario_label("water"), "water");
  EXPECT_EQ(group.corruption_label("rust"), "Rust");
  EXPECT_EQ(group.corruption_label("fog"), "Fog");
  EXPECT_EQ(group.corruption_label("dust"), "dust");
}

TEST(RunGroups, AScenarioHasForeignSamplesIfAnyRunOfItHad) {
  RunRecord noisy = run("tent", "noise", "fog", 1, 80);
  noisy.foreign = 10;
  const std::vector<RunRecord> records = {run("tent", "benign", "fog", 0, 80),
                                          run("tent", "noise", "fog", 0, 80),
                                          noisy};
  const RunGroup group = group_runs(records).at(0);
  EXPECT_TRUE(group.has_foreign("noise"));
  EXPECT_FALSE(group.has_foreign("benign"));
  EXPECT_FALSE(group.has_foreign("far"));
}

TEST(RunGroups, AllRunsOfARow) {
  const std::vector<RunRecord> records = {run("tent", "noise", "fog", 1, 80),
                                          run("tent", "benign", "fog", 0, 80),
                                          run("tent", "noise", "fog", 0, 80)};
  const auto groups = group_runs(records);
  EXPECT_EQ(
      groups.at(0).rows.at(0).runs(),
      (std::vector<const RunRecord*>{&records[1], &records[2], &records[0]}));
}

TEST(RunGroups, VariantsNamedByTheirOptionsAreSettings) {
  const auto base = with_option(run("sotta", "noise", "fog", 0, 80), "m", 0.2);
  const std::vector<RunRecord> records = {
      base, with_variant(with_option(base, "m", 0.5), "m=0.5"),
      with_variant(with_option(base, "m", 0.05), "m=0.05"),
      with_variant(base, "x=1")};
  const auto groups = group_runs(records);
  EXPECT_EQ(labels(groups.at(0)),
            (Names{"SoTTA", "SoTTA (m 0.05)", "SoTTA (m 0.5)", "SoTTA, x=1"}));
  EXPECT_EQ(groups[0].rows[1].variant, "");
}

TEST(RunGroups, AveragesAreOverThePapersCorruptionsIfThereAreAny) {
  const std::vector<RunRecord> records = {
      run("tent", "noise", "spatter", 0, 80),
      run("tent", "noise", "fog", 0, 80),
      run("tent", "benign", "spatter", 0, 80),
      run("sar", "noise", "snow", 0, 1)};
  const auto groups = group_runs(records);
  const RunGroup& group = groups.at(0);
  EXPECT_EQ(group.averaged("noise"), (Names{"snow", "fog"}));
  EXPECT_EQ(group.corruptions("noise"), (Names{"snow", "fog", "spatter"}));
  EXPECT_EQ(group.averaged("benign"), (Names{"spatter"}));
  EXPECT_EQ(group.scenarios, (Names{"benign", "noise"}));
}

}  // namespace
}  // namespace sotta
