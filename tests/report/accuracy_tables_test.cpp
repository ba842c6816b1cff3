#include "report/tables/accuracy_tables.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "report/names.h"
#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;
using testing::with_option;
using testing::with_variant;
using Names = std::vector<std::string>;

Names row_names(const Table& table) {
  Names names;
  for (const TableRow& row : table.rows)
    names.push_back(row.name);
  return names;
}

Names column_names(const Table& table) {
  Names names;
  for (const Column& column : table.columns)
    names.push_back(column.name);
  return names;
}

// All fifteen corruptions, each with this accuracy.
std::vector<RunRecord> all_corruptions(const RunRecord& like) {
  std::vector<RunRecord> records;
  for (const auto& corruption : paper_corruptions()) {
    records.push_back(like);
    records.back().corruption = corruption;
  }
  return records;
}

TEST(AccuracyTables, ScenarioTableHasThePapersNumberBesideOurs) {
  const auto records = all_corruptions(run("sotta", "noise", "", 0, 81));
  const auto tables = scenario_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(column_names(tables[0]), Names{"Noise"});
  const TableCell& cell = tables[0].rows.at(0).cells.at(0);
  EXPECT_DOUBLE_EQ(cell.value, 81);
  EXPECT_DOUBLE_EQ(cell.paper, 80.0);
}

TEST(AccuracyTables, OverallColumnComparesTheSameScenarios) {
  auto records = all_corruptions(run("sotta", "noise", "", 0, 81));
  for (const auto& record : all_corruptions(run("sotta", "far", "", 0, 83)))
    records.push_back(record);
  const auto tables = scenario_tables(group_runs(records).at(0));
  EXPECT_EQ(column_names(tables.at(0)), (Names{"Far", "Noise", "Average"}));
  const TableCell& cell = tables[0].rows.at(0).cells.at(2);
  EXPECT_DOUBLE_EQ(cell.value, 82);
  EXPECT_DOUBLE_EQ(cell.paper, (81.6 + 80.0) / 2);
}

TEST(AccuracyTables, SomeCorruptionsAreComparedWithTheSameOfThePaper) {
  const std::vector<RunRecord> records = {run("sotta", "noise", "fog", 0, 85)};
  const auto tables = scenario_tables(group_runs(records).at(0));
  EXPECT_DOUBLE_EQ(tables.at(0).rows.at(0).cells.at(0).paper, 85.7);
  EXPECT_EQ(tables[0].notes.at(1), "Noise: average over fog alone.");
}

// Beside 5 of 15 corruptions the paper's average over 15 would mislead.
TEST(AccuracyTables, PartialAveragesHaveNoNumberOfThePaperBesideThem) {
  auto records = all_corruptions(run("sotta", "noise", "", 0, 81));
  const auto far = all_corruptions(run("sotta", "far", "", 0, 83));
  records.insert(records.end(), far.begin(), far.end());
  auto tent = all_corruptions(run("tent", "noise", "", 0, 55));
  tent.resize(5);
  records.insert(records.end(), tent.begin(), tent.end());
  const auto group = group_runs(records).at(0);
  const Table table = scenario_tables(group).at(0);
  ASSERT_EQ(row_names(table), (Names{"TENT", "SoTTA"}));
  const auto& partial = table.rows[0].cells;
  EXPECT_TRUE(partial[0].missing());
  EXPECT_TRUE(std::isnan(partial[0].paper));
  EXPECT_TRUE(partial[1].partial);
  EXPECT_TRUE(std::isnan(partial[1].paper));
  EXPECT_TRUE(partial[2].partial);
  EXPECT_TRUE(std::isnan(partial[2].paper));
  EXPECT_DOUBLE_EQ(table.rows[1].cells[1].paper, 80.0);
  EXPECT_DOUBLE_EQ(table.rows[1].cells[2].paper, 80.8);
  EXPECT_FALSE(partial[1].best);

  const Table by_corruption = corruption_tables(group).at(1);
  ASSERT_EQ(row_names(by_corruption), (Names{"TENT", "SoTTA"}));
  const auto& cells = by_corruption.rows[0].cells;
  EXPECT_TRUE(std::isnan(cells.back().paper));
  EXPECT_DOUBLE_EQ(cells[0].paper, 54.0);
  EXPECT_TRUE(std::isnan(cells[5].paper));  // not run
  EXPECT_DOUBLE_EQ(by_corruption.rows[1].cells.back().paper, 80.0);
}

TEST(AccuracyTables, CellsAreMeansAndSpreadsOverUnevenSeeds) {
  const std::vector<RunRecord> records = {
      run("tent", "noise", "snow", 0, 60), run("tent", "noise", "fog", 0, 50),
      run("tent", "noise", "snow", 3, 64), run("tent", "noise", "fog", 3, 57),
      run("tent", "noise", "snow", 7, 71), run("tent", "noise", "fog", 7, 40)};
  const auto group = group_runs(records).at(0);
  const Table table = corruption_tables(group).at(0);
  const auto& cells = table.rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].value, 65);
  EXPECT_DOUBLE_EQ(cells[0].std, std::sqrt((25.0 + 1 + 36) / 2));
  EXPECT_DOUBLE_EQ(cells[0].worst, 60);
  EXPECT_DOUBLE_EQ(cells[1].value, 49);
  EXPECT_DOUBLE_EQ(cells[1].worst, 40);
  // seeds: 55, 60.5 and 55.5
  EXPECT_DOUBLE_EQ(cells[2].value, 57);
  EXPECT_DOUBLE_EQ(cells[2].std, std::sqrt((4.0 + 12.25 + 2.25) / 2));
  EXPECT_DOUBLE_EQ(cells[2].worst, 55);
  EXPECT_EQ(cells[2].seeds, 3);
  EXPECT_EQ(table.notes.at(0), "3 seeds: 0, 3, 7.");
  EXPECT_EQ(table.notes.at(1), "Average over 2 corruptions (snow, fog).");
  EXPECT_TRUE(table.wide);
  EXPECT_DOUBLE_EQ(scenario_tables(group).at(0).rows.at(0).cells.at(0).value,
                   57);
}

TEST(AccuracyTables, OtherSeveritiesAreNotComparedWithThePaper) {
  auto record = run("sotta", "noise", "fog", 0, 85);
  record.severity = 3;
  const std::vector<RunRecord> records = {record};
  const auto tables = scenario_tables(group_runs(records).at(0));
  EXPECT_TRUE(std::isnan(tables.at(0).rows.at(0).cells.at(0).paper));
}

TEST(AccuracyTables, StreamsUnlikeThePapersAreNotComparedWithIt) {
  const auto papers_number = [](const RunRecord& like) {
    const auto records = all_corruptions(like);
    const auto group = group_runs(records).at(0);
    const auto cell = corruption_tables(group).at(0).rows.at(0).cells.at(0);
    const auto average = scenario_tables(group).at(0).rows.at(0).cells.at(0);
    EXPECT_EQ(std::isnan(cell.paper), std::isnan(average.paper));
    return average.paper;
  };
  const RunRecord usual = run("sotta", "noise", "", 0, 81);
  EXPECT_DOUBLE_EQ(papers_number(with_option(usual, "burst", int64_t{0})),
                   80.0);
  EXPECT_DOUBLE_EQ(papers_number(with_option(usual, "burst", int64_t{1})),
                   80.0);
  EXPECT_DOUBLE_EQ(papers_number(with_option(usual, "foreign_share", 0.0)),
                   80.0);
  const std::vector<RunRecord> others = {
      with_option(usual, "burst", int64_t{500}),
      with_option(usual, "foreign_share", 0.9),
      with_option(usual, "foreign_count", int64_t{100}),
      with_option(usual, "limit", int64_t{256}),
      with_option(usual, "window", int64_t{200}),
      with_option(usual, "order", std::string("dirichlet")),
      with_option(usual, "attack", std::string("adaptive"))};
  for (const RunRecord& other : others)
    EXPECT_TRUE(std::isnan(papers_number(other)));
}

TEST(AccuracyTables, UncorruptedImagesBesideTheOthersChangeNoComparison) {
  auto records = all_corruptions(run("sotta", "noise", "", 0, 81));
  records.push_back(run("sotta", "noise", "", 0, 92));
  records.back().severity = 0;
  const auto group = group_runs(records).at(0);
  const auto tables = scenario_tables(group);
  EXPECT_DOUBLE_EQ(tables.at(0).rows.at(0).cells.at(0).paper, 80.0);
  const auto cells = corruption_tables(group).at(0).rows.at(0).cells;
  EXPECT_TRUE(std::any_of(cells.begin(), cells.end(), [](const auto& cell) {
    return cell.value == 92 && std::isnan(cell.paper);
  }));
}

TEST(AccuracyTables, CorruptionTableHasAColumnEachAndTheAverage) {
  const std::vector<RunRecord> records = {run("tent", "noise", "snow", 0, 60),
                                          run("tent", "noise", "fog", 0, 50),
                                          run("source", "noise", "fog", 0, 74)};
  const auto tables = corruption_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(column_names(tables[0]), (Names{"Snow", "Fog", "Average"}));
  EXPECT_EQ(row_names(tables[0]), (Names{"Source", "TENT"}));
  EXPECT_TRUE(tables[0].rows[0].cells[0].missing());
  EXPECT_TRUE(tables[0].rows[0].cells[2].partial);
  EXPECT_DOUBLE_EQ(tables[0].rows[1].cells[2].value, 55);
  EXPECT_DOUBLE_EQ(tables[0].rows[1].cells[1].paper, 49.5);
  EXPECT_TRUE(tables[0].rows[0].cells[1].best);
}

TEST(AccuracyTables, OneCorruptionNeedsNoTableOfItsOwn) {
  const std::vector<RunRecord> records = {run("tent", "noise", "snow", 0, 60)};
  EXPECT_TRUE(corruption_tables(group_runs(records).at(0)).empty());
}

TEST(AccuracyTables, VariantsStandInThePapersOrderAboveTheMethod) {
  const auto base = run("sotta", "noise", "fog", 0, 80);
  const std::vector<RunRecord> records = {
      base, with_variant(base, "a new idea"), with_variant(base, "UC + ESM"),
      with_variant(base, "HC")};
  const auto groups = group_runs(records);
  const auto tables = variant_tables(groups.at(0));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(row_names(tables[0]),
            (Names{"HC", "UC + ESM", "a new idea", "SoTTA"}));
  EXPECT_EQ(row_names(scenario_tables(groups[0]).at(0)), Names{"SoTTA"});
}

TEST(AccuracyTables, VariantsWithoutUsualSettingsStandAmongTheSettings) {
  const auto esm = with_option(
      with_variant(run("sotta", "noise", "fog", 0, 80), "ESM"), "m", 0.1);
  const std::vector<RunRecord> records = {esm, with_option(esm, "m", 0.2)};
  const auto groups = group_runs(records);
  EXPECT_TRUE(variant_tables(groups.at(0)).empty());
  EXPECT_EQ(row_names(setting_tables(groups[0]).at(0)),
            (Names{"SoTTA, ESM (m 0.1)", "SoTTA, ESM (m 0.2)"}));
}

TEST(AccuracyTables, VariantsAreComparedWithTheAblationOverAllCorruptions) {
  const auto records =
      all_corruptions(with_variant(run("sotta", "noise", "", 0, 70), "ESM"));
  const auto tables = variant_tables(group_runs(records).at(0));
  EXPECT_DOUBLE_EQ(tables.at(0).rows.at(0).cells.at(0).paper, 60.5);
  EXPECT_TRUE(scenario_tables(group_runs(records).at(0)).empty());
}

TEST(AccuracyTables, OdinIsComparedWithThePapersOdin) {
  auto like =
      with_option(run("tent", "noise", "", 0, 55), "odin_threshold", 0.1);
  like.variant = "odin_threshold=0.1";
  const auto records = all_corruptions(like);
  const auto tables = setting_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_DOUBLE_EQ(tables[0].rows.at(0).cells.at(0).paper, 56.2);
  EXPECT_NE(tables[0].notes.back().find("ODIN"), std::string::npos);
}

TEST(AccuracyTables, SettingsThatWereTriedOutHaveATable) {
  const auto base = with_option(run("sotta", "noise", "fog", 0, 80), "m", 0.2);
  auto second = base;
  second.seed = 1;
  const std::vector<RunRecord> records = {base, second,
                                          with_option(base, "m", 0.1),
                                          run("tent", "noise", "fog", 0, 50)};
  const auto tables = setting_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(row_names(tables[0]), (Names{"SoTTA", "SoTTA (m 0.1)"}));
  EXPECT_TRUE(std::isnan(tables[0].rows[1].cells[0].paper));
}

TEST(AccuracyTables, AMethodWithoutUsualSettingsHasARowForEach) {
  const auto base = with_option(run("sotta", "attack", "fog", 0, 80), "attack",
                                std::string("paper"));
  const std::vector<RunRecord> records = {
      run("tent", "attack", "fog", 0, 60), base,
      with_option(base, "attack", std::string("surrogate"))};
  const auto groups = group_runs(records);
  EXPECT_EQ(
      row_names(scenario_tables(groups.at(0)).at(0)),
      (Names{"TENT", "SoTTA (attack paper)", "SoTTA (attack surrogate)"}));
  EXPECT_TRUE(setting_tables(groups.at(0)).empty());
}

// Both scenarios are complete, but no seed has both.
TEST(AccuracyTables, AnOverallAverageOfOtherSeedsIsNotComparedWithThePaper) {
  auto records = all_corruptions(run("sotta", "far", "", 0, 83));
  for (const auto& record : all_corruptions(run("sotta", "noise", "", 1, 81)))
    records.push_back(record);
  const auto tables = scenario_tables(group_runs(records).at(0));
  const auto& cells = tables.at(0).rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].paper, 81.6);
  EXPECT_DOUBLE_EQ(cells[1].paper, 80.0);
  EXPECT_TRUE(cells[2].partial);
  EXPECT_TRUE(std::isnan(cells[2].paper));
  EXPECT_EQ(tables[0].notes.at(0), "2 seeds: 0, 1.");
  EXPECT_EQ(tables[0].notes.at(1),
            "Far, Noise: average over the paper's 15 corruptions.");
}

TEST(AccuracyTables, NotesSayWhatEachScenarioIsOver) {
  const std::vector<RunRecord> records = {
      run("tent", "benign", "fog", 0, 85), run("tent", "near", "fog", 0, 85),
      run("tent", "noise", "fog", 0, 85), run("tent", "noise", "snow", 0, 85)};
  const Table table = scenario_tables(group_runs(records).at(0)).at(0);
  EXPECT_EQ(table.notes,
            (Names{"1 seed: 0.", "Benign, Near: average over fog alone.",
                   "Noise: average over 2 corruptions (snow, fog).",
                   "The paper states 55.9 for LAME under Attack; the cells of "
                   "its own table average 55.7.",
                   "The paper states 69.5 for CoTTA under Attack; the cells of "
                   "its own table average 64.7."}));
  EXPECT_EQ(table.title, "Accuracy (%) by scenario");
  EXPECT_EQ(table.row_header, "Method");
}

TEST(AccuracyTables, SlipsOfThePaperAreNotedBesideItsNumbersAlone) {
  const std::vector<RunRecord> records = {run("mine", "noise", "fog", 0, 85)};
  const Table table = scenario_tables(group_runs(records).at(0)).at(0);
  EXPECT_EQ(table.notes,
            (Names{"1 seed: 0.", "Noise: average over fog alone."}));
}

}  // namespace
}  // namespace sotta
