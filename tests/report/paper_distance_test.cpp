#include "report/tables/paper_distance.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TableCell beside(double value, double paper) {
  TableCell cell;
  cell.value = value;
  cell.paper = paper;
  return cell;
}

Report report_of(const Table& table) {
  Report report;
  report.sections = {{"cifar10", {}, {table}}};
  return report;
}

// Two scenarios and their average.
Table averages() {
  Table table;
  table.columns = {{"Near"}, {"Far"}, {"Average"}};
  table.columns[2].overall = true;
  table.rows = {
      {"SAR", {beside(77.5, 72.4), beside(60, 61.5), beside(1, 99)}},
      {"EATA", {beside(60, TableCell::kNone), TableCell(), TableCell()}},
      {"TENT", {beside(60, 59), beside(60, 60), beside(1, 99)}}};
  return table;
}

TEST(PaperDistances, AreOfScenariosTheFarthestFirst) {
  const auto distances = paper_distances(report_of(averages()));
  ASSERT_EQ(distances.size(), 4u);
  EXPECT_EQ(distances[0].name, "SAR under Near");
  EXPECT_NEAR(distances[0].difference, 5.1, 1e-9);
  EXPECT_EQ(distances[1].name, "SAR under Far");
  EXPECT_EQ(count_within(distances, 1.0), 2);
  EXPECT_EQ(count_within(distances, 1.5), 3);
}

TEST(PaperDistances, AreAsTheyAreShown) {
  EXPECT_DOUBLE_EQ(shown_difference(beside(51.04, 50), 1), 1.0);
  EXPECT_DOUBLE_EQ(shown_difference(beside(51.06, 50), 1), 1.1);
  EXPECT_TRUE(std::isnan(shown_difference(beside(51, TableCell::kNone), 1)));
}

TEST(PaperDistances, SingleCorruptionsAndRowsThatStandTwiceAddNone) {
  Report report = report_of(averages());
  report.sections[0].tables.push_back(averages());
  Table wide = averages();
  wide.wide = true;
  wide.rows[0].name = "another";
  report.sections[0].tables.push_back(wide);
  EXPECT_EQ(paper_distances(report).size(), 4u);
}

TEST(PaperDistances, AreSaidInASentence) {
  EXPECT_EQ(distance_text(paper_distances(report_of(averages()))),
            "Of 4 averages that the paper has too, 2 lie within 1.0 points of "
            "it and 3 within 1.5; the farthest: SAR under Near (+5.1), SAR "
            "under Far (−1.5), TENT under Near (+1.0), TENT under Far (0.0).");
  EXPECT_EQ(distance_text({}), "");
}

}  // namespace
}  // namespace sotta
