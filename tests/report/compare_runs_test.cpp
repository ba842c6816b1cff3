#include <gtest/gtest.h>

#include "sotta/report/comparison.h"

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
  const Section section = compare_runs(now, before).section;
  EXPECT_EQ(section.paragraphs.at(0),
            "Of 4 averages that both sides have, 1 changed beyond noise; for "
            "2 a side has one seed, and noise is that of the number of "
            "images.");
  const Table* table = find_table(section, "against/averages");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            (Names{"cifar10, preset clean: TENT under Noise",
                   "cifar10, preset clean: EATA under Noise",
                   "cifar10, preset clean: SAR under Noise"}));
  EXPECT_EQ(table->rows[0].cells[2].text, "+0.50");
  EXPECT_EQ(table->rows[0].cells[4].text, "higher");
  EXPECT_EQ(table->rows[1].cells[3].text, "−2.38 to +6.38 (images)");
  EXPECT_EQ(table->rows[1].cells[4].text, "within noise");
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
  const Section section = compare_runs(now, before).section;
  const Table* table = find_table(section, "against/averages");
  ASSERT_NE(table, nullptr);
  EXPECT_DOUBLE_EQ(table->rows.at(0).cells.at(1).value, 51);
  EXPECT_EQ(find_table(section, "against/corruptions"), nullptr);
}

TEST(CompareRuns, SingleCorruptionsAreComparedToo) {
  const Runs before = {run("tent", "noise", "fog", 0, 50),
                       run("tent", "noise", "snow", 0, 50)};
  const Runs now = {run("tent", "noise", "fog", 0, 61),
                    run("tent", "noise", "snow", 0, 50)};
  const Section section = compare_runs(now, before).section;
  const Table* table = find_table(section, "against/corruptions");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            Names{"cifar10, preset clean: TENT under Noise, fog"});
}

TEST(CompareRuns, UncorruptedImagesAreNamedInWords) {
  const Runs before = {run("tent", "noise", "fog", 0, 50),
                       run("tent", "noise", "", 0, 90)};
  const Runs now = {run("tent", "noise", "fog", 0, 50),
                    run("tent", "noise", "", 0, 95)};
  const Section section = compare_runs(now, before).section;
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
  const Section section = compare_runs(now, before).section;
  const Table* table = find_table(section, "against/one-sided");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(row_names(*table),
            (Names{"cifar10, preset clean: SoTTA under Near",
                   "cifar10, preset clean: TENT under Noise"}));
  EXPECT_EQ(table->rows[0].cells[1].text, "1");
  EXPECT_EQ(table->rows[1].cells[0].text, "1");
  EXPECT_EQ(table->rows[1].cells[1].text, "0");
}

// Everything of a table: "name|title|header|columns", its rows, its notes.
Names text_of(const Table& table) {
  std::string head = table.name + "|" + table.title + "|" + table.row_header;
  for (const Column& column : table.columns)
    head += "|" + column.name;
  Names lines = {head};
  for (const TableRow& row : table.rows) {
    std::string line = row.name;
    for (size_t i = 0; i < row.cells.size(); ++i)
      line += "|" + cell_text(table, row.cells[i], i);
    lines.push_back(line);
  }
  lines.insert(lines.end(), table.notes.begin(), table.notes.end());
  return lines;
}

Runs runs_before() {
  return {run("tent", "noise", "fog", 0, 50),
          run("tent", "noise", "fog", 1, 60),
          run("tent", "noise", "snow", 0, 40),
          run("tent", "noise", "snow", 1, 50),
          run("tent", "noise", "frost", 0, 50),
          run("tent", "noise", "frost", 1, 60),
          run("lame", "noise", "fog", 0, 50),
          run("lame", "noise", "fog", 1, 52),
          run("sar", "noise", "fog", 0, 33),
          run("eata", "noise", "fog", 5, 70)};
}

// TENT: +0.5 in fog and +1 in frost; +2 and -3 in snow. LAME has other seeds:
// means 51 and 61 with errors of 1 each, t of two degrees of freedom 4.30265,
// so 10 -+ 6.085. SAR is the same; EATA has one seed of 1,000 images: 701 and
// 681 of 1,002 right, errors of 1.447 and 1.472, so -2 -+ 1.96 * 2.064.
TEST(CompareRuns, TheseRunsGiveTheseTables) {
  const Runs now = {run("tent", "noise", "fog", 0, 50.5),
                    run("tent", "noise", "fog", 1, 60.5),
                    run("tent", "noise", "snow", 0, 42),
                    run("tent", "noise", "snow", 1, 47),
                    run("tent", "noise", "frost", 0, 51),
                    run("tent", "noise", "frost", 1, 61),
                    run("lame", "noise", "fog", 2, 60),
                    run("lame", "noise", "fog", 3, 62),
                    run("sar", "noise", "fog", 0, 33),
                    run("eata", "noise", "fog", 5, 68),
                    run("eata", "near", "fog", 5, 60)};

  const Section section = compare_runs(now, runs_before()).section;

  EXPECT_EQ(section.title, "What changed");
  ASSERT_EQ(section.paragraphs.size(), 2u);
  EXPECT_EQ(section.paragraphs[0],
            "Of 4 averages that both sides have, 1 changed beyond noise; for "
            "2 a side has one seed, and noise is that of the number of "
            "images.");
  const std::string place = "cifar10, preset clean: ";
  const std::string columns =
      "|Runs|Other|These|Difference|95 % interval|Verdict";
  ASSERT_EQ(section.tables.size(), 3u);
  EXPECT_EQ(
      text_of(section.tables[0]),
      (Names{"against/averages|Accuracy (%): averages" + columns,
             place + "LAME under Noise|51.00|61.00|+10.00|+3.92 to +16.08 "
                     "(unpaired)|higher",
             place + "EATA under Noise|70.00|68.00|−2.00|−6.05 to +2.05 "
                     "(images)|within noise",
             place +
                 "TENT under Noise|51.67|52.00|+0.33|−10.26 to +10.92|within "
                 "noise",
             "4 comparisons; chance alone would call about 0 of them a change, "
             "1 were called so. Not shown: 1 that are the same to the last "
             "digit."}));
  EXPECT_EQ(
      text_of(section.tables[1]),
      (Names{"against/corruptions|Accuracy (%): single corruptions" + columns,
             place + "TENT under Noise, frost|55.00|56.00|+1.00|+1.00 to "
                     "+1.00|higher",
             place + "TENT under Noise, fog|55.00|55.50|+0.50|+0.50 to "
                     "+0.50|higher",
             "3 comparisons; chance alone would call about 0 of them a change, "
             "2 were called so. Not shown: 0 that are the same to the last "
             "digit, 1 within noise."}));
  EXPECT_EQ(
      text_of(section.tables[2]),
      (Names{"against/one-sided|Runs that only one side "
             "has|Runs|Only other|Only these",
             place + "EATA under Near|0|1", place + "LAME under Noise|2|2"}));
}

// 11 of 21 comparisons are not the same, of which chance calls 0.55.
TEST(CompareRuns, ChanceIsOfWhatWasTested) {
  Runs before, now;
  for (int i = 0; i < 11; ++i)
    for (const int64_t seed : {0, 1}) {
      const std::string method = "m" + std::to_string(i);
      before.push_back(run(method, "noise", "fog", seed, 50));
      now.push_back(
          run(method, "noise", "fog", seed, 51.0 + 20.0 * double(seed)));
    }
  for (int i = 11; i < 21; ++i) {
    before.push_back(run("m" + std::to_string(i), "noise", "fog", 0, 50));
    now.push_back(run("m" + std::to_string(i), "noise", "fog", 0, 50));
  }
  EXPECT_EQ(find_table(compare_runs(now, before).section, "against/averages")
                ->notes[0],
            "21 comparisons; chance alone would call about 1 of them a change, "
            "0 were called so. Not shown: 10 that are the same to the last "
            "digit.");
}

}  // namespace
}  // namespace sotta
