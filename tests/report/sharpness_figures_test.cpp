#include <gtest/gtest.h>

#include "report/figures/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::occurrences;
using testing::with_option;
using testing::with_variant;

RunRecord traced(bool sharpness, const std::string& memory) {
  RunRecord record = testing::run("sotta", "noise", "fog", 0, 80);
  record.series = {{"accuracy", {70, 80}},
                   {"samples", {32, 32}},
                   {"gradient_norm", {0.5, 0.4}}};
  return with_option(with_option(record, "sharpness", sharpness), "memory",
                     memory);
}

TEST(SharpnessFigures, PairsRunsThatDifferInTheStepAlone) {
  const std::vector<RunRecord> records = {
      traced(true, "hus"), with_variant(traced(false, "fifo"), "none"),
      with_variant(traced(false, "hus"), "HUS"),
      testing::run("source", "noise", "fog", 0, 57)};
  const auto figures = sharpness_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-sharpness-noise");
  EXPECT_EQ(testing::XmlCheck::problem(figures[0].svg), "");
  EXPECT_EQ(occurrences(figures[0].svg, "<polyline"), 5);  // and Source
  EXPECT_EQ(occurrences(figures[0].svg, ">Gradient of the update<"), 1);
}

TEST(SharpnessFigures, PrefersTheMemoryOfTheMethod) {
  const std::vector<RunRecord> records = {
      with_variant(traced(true, "fifo"), "A"),
      with_variant(traced(false, "fifo"), "B"),
      with_variant(traced(true, "hus"), "C"),
      with_variant(traced(false, "hus"), "D")};
  const auto figures = sharpness_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].title,
            "SoTTA, C: with and without the sharpness step under Noise");
}

TEST(SharpnessFigures, PrefersTheNormOfForeignSamples) {
  auto with = traced(true, "hus");
  auto without = with_variant(traced(false, "hus"), "HUS");
  with.series["gradient_norm_foreign"] = {1, 2};
  without.series["gradient_norm_foreign"] = {1, 3};
  const std::vector<RunRecord> records = {with, without};
  const auto figures = sharpness_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(occurrences(figures[0].svg, ">Gradient of foreign samples<"), 1);
}

// The record under another corruption and seed, and better by so much.
RunRecord moved(RunRecord record, const std::string& corruption, int64_t seed,
                double better) {
  record.corruption = corruption;
  record.seed = seed;
  record.accuracy += better;
  for (double& accuracy : record.series["accuracy"])
    accuracy += better;
  return record;
}

TEST(SharpnessFigures, ComparesWhatBothSidesWereRunWith) {
  const auto with = traced(true, "hus");
  const auto without = with_variant(traced(false, "hus"), "HUS");
  const auto source = testing::run("source", "noise", "fog", 0, 57);
  std::vector<RunRecord> records = {with, without, source};
  const auto expected = sharpness_figures(group_runs(records).at(0));

  records.push_back(moved(with, "contrast", 0, 15));
  records.push_back(moved(with, "fog", 1, 15));
  records.push_back(moved(without, "brightness", 0, -15));
  records.push_back(moved(source, "contrast", 0, 9));
  const auto figures = sharpness_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].svg, expected.at(0).svg);
}

TEST(SharpnessFigures, NoPairNoFigure) {
  const std::vector<RunRecord> records = {
      traced(true, "hus"), with_variant(traced(false, "fifo"), "none")};
  EXPECT_TRUE(sharpness_figures(group_runs(records).at(0)).empty());

  const std::vector<RunRecord> apart = {
      traced(true, "hus"),
      moved(with_variant(traced(false, "hus"), "HUS"), "snow", 0, 0)};
  EXPECT_TRUE(sharpness_figures(group_runs(apart).at(0)).empty());
}

TEST(SharpnessFigures, RunsNeedNotNameAMemory) {
  std::vector<RunRecord> records;
  for (const int64_t seed : {0, 1})
    for (const bool sharpness : {true, false}) {
      records.push_back(
          with_variant(traced(sharpness, ""), sharpness ? "with" : "without"));
      records.back().options.erase("memory");
      records.back().seed = seed;
      records.push_back(with_variant(traced(sharpness, "hus"),
                                     sharpness ? "z with" : "z without"));
      records.back().seed = seed;
    }
  const auto figures = sharpness_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].title,
            "SoTTA, z with: with and without the sharpness step under Noise");
}

}  // namespace
}  // namespace sotta
