#include <gtest/gtest.h>

#include "sotta/report/report.h"

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;
using Names = std::vector<std::string>;
using Runs = std::vector<RunRecord>;

const Table* find_table(const Section& section, const std::string& name) {
  for (const Table& table : section.tables)
    if (table.name == name) return &table;
  return nullptr;
}

Names row_names(const Table& table) {
  Names names;
  for (const TableRow& row : table.rows)
    names.push_back(row.name);
  return names;
}

TEST(CompareRuns, WhatChangedStandsFirstWithItsVerdict) {
  const Runs before = {
      run("tent", "noise", "fog", 0, 50), run("tent", "noise", "fog", 1, 60),
      run("sar", "noise", "fog", 0, 50),  run("sar", "noise", "fog", 1, 60),
      run("eata", "noise", "fog", 0, 50), run("lame", "noise", "fog", 0, 50)};
  const Runs now = {run("tent", "noise", "fog", 0, 50.5),
                    run("tent", "noise", "fog", 1, 60.5),
                    run("sar", "noise", "fog", 0, 53),
                    run("sar", "noise", "fog", 1, 56),
                    run("eata", "noise", "fog", 0, 52),
                    run("lame", "noise", "fog", 0, 50)};
  const Section section = compare_runs(now, before);
  EXPECT_EQ(section.paragraphs.at(0),
            "Of 4 averages that both sides have, 1 changed beyond seed noise; "
            "for 1 the noise is not known, as there is one seed.");
  const Table* table = find_table(section, "against/averages");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            (Names{"cifar10, preset clean: TENT under Noise",
                   "cifar10, preset clean: EATA under Noise",
                   "cifar10, preset clean: SAR under Noise"}));
  EXPECT_EQ(table->rows[0].cells[2].text, "+0.50");
  EXPECT_EQ(table->rows[0].cells[4].text, "higher");
  EXPECT_EQ(table->rows[1].cells[3].text, "one seed");
  EXPECT_EQ(table->rows[1].cells[4].text, "noise unknown");
  EXPECT_EQ(table->rows[2].cells[4].text, "within noise");
  EXPECT_EQ(
      table->notes.at(0),
      "4 comparisons; chance alone would call about 0 of them a change, 1 "
      "were called so. Not shown: 1 that are the same to the last "
      "digit.");
}

TEST(CompareRuns, AveragesAreOverWhatBothHave) {
  const Runs before = {run("tent", "noise", "fog", 0, 50)};
  const Runs now = {run("tent", "noise", "fog", 0, 51),
                    run("tent", "noise", "snow", 0, 99)};
  const Section section = compare_runs(now, before);
  const Table* table = find_table(section, "against/averages");
  ASSERT_NE(table, nullptr);
  EXPECT_DOUBLE_EQ(table->rows.at(0).cells.at(1).value, 51);
  EXPECT_EQ(find_table(section, "against/corruptions"), nullptr);
}

TEST(CompareRuns, SingleCorruptionsAreComparedToo) {
  const Runs before = {run("tent", "noise", "fog", 0, 50),
                       run("tent", "noise", "snow", 0, 50)};
  const Runs now = {run("tent", "noise", "fog", 0, 51),
                    run("tent", "noise", "snow", 0, 50)};
  const Section section = compare_runs(now, before);
  const Table* table = find_table(section, "against/corruptions");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            Names{"cifar10, preset clean: TENT under Noise, fog"});
}

TEST(CompareRuns, UncorruptedImagesAreNamedInWords) {
  const Runs before = {run("tent", "noise", "fog", 0, 50),
                       run("tent", "noise", "", 0, 90)};
  const Runs now = {run("tent", "noise", "fog", 0, 50),
                    run("tent", "noise", "", 0, 91)};
  const Section section = compare_runs(now, before);
  const Table* table = find_table(section, "against/corruptions");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            Names{"cifar10, preset clean: TENT under Noise, uncorrupted "
                  "images"});
}

TEST(CompareRuns, RunsThatOneSideHasAreCounted) {
  const Runs before = {run("tent", "noise", "fog", 0, 50),
                       run("tent", "noise", "fog", 1, 50)};
  const Runs now = {run("tent", "noise", "fog", 0, 50),
                    run("sotta", "near", "fog", 0, 50)};
  const Section section = compare_runs(now, before);
  const Table* table = find_table(section, "against/one-sided");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            (Names{"cifar10, preset clean: SoTTA under Near",
                   "cifar10, preset clean: TENT under Noise"}));
  EXPECT_EQ(table->rows[0].cells[1].text, "1");
  EXPECT_EQ(table->rows[1].cells[0].text, "1");
  EXPECT_EQ(table->rows[1].cells[1].text, "0");
}

}  // namespace
}  // namespace sotta
