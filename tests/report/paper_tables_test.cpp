#include "report/tables/paper_tables.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "report/names.h"
#include "report/tables/number_text.h"

namespace sotta {
namespace {

TEST(PaperTables, CellsOfTheDetailedTable) {
  EXPECT_EQ(paper_accuracy("cifar10", "benign", "source", "gaussian_noise"),
            26.0);
  EXPECT_EQ(paper_accuracy("cifar10c", "noise", "sotta", "fog"), 85.7);
  EXPECT_EQ(paper_accuracy("cifar10", "near", "pseudo_label", "snow"), 79.2);
}

TEST(PaperTables, AveragesOfAllDatasets) {
  EXPECT_EQ(paper_average("cifar10", "attack", "sotta", paper_corruptions()),
            84.5);
  EXPECT_EQ(paper_average("cifar100", "benign", "sotta", paper_corruptions()),
            60.5);
  EXPECT_EQ(paper_average("imagenet", "benign", "eata", paper_corruptions()),
            38.0);
}

TEST(PaperTables, AverageOfSomeCorruptionsIsThatOfTheirCells) {
  // (26.0 + 33.2) / 2
  EXPECT_NEAR(paper_average("cifar10", "benign", "source",
                            {"gaussian_noise", "shot_noise"}),
              29.6, 1e-9);
  EXPECT_TRUE(
      std::isnan(paper_average("cifar100", "benign", "source", {"fog"})));
}

// Every number that can be asked for, in the order of the paper's tables.
std::string all_numbers() {
  std::string text;
  const auto add = [&](double value) {
    text += (std::isnan(value) ? "-" : fixed(value, 1)) + " ";
  };
  const std::vector<std::string> scenarios = {"benign", "near", "far", "attack",
                                              "noise"};
  const auto methods =
      sort_methods({"source", "bn_stats", "pseudo_label", "tent", "lame",
                    "cotta", "eata", "sar", "rotta", "sotta"});
  for (const auto& scenario : scenarios)
    for (const auto& method : methods) {
      for (const auto& corruption : paper_corruptions())
        add(paper_accuracy("cifar10", scenario, method, corruption));
      for (const char* dataset : {"cifar10", "cifar100", "imagenet"})
        add(paper_average(dataset, scenario, method, paper_corruptions()));
      add(paper_variant("cifar10", scenario, method, "odin"));
    }
  for (const auto& scenario : scenarios)
    for (const auto& variant : paper_variants())
      add(paper_variant("cifar10", scenario, "sotta", variant));
  return text;
}

// FNV-1a.
uint64_t checksum(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  return hash;
}

TEST(PaperTables, NoNumberHasChanged) {
  EXPECT_EQ(checksum(paper_tables_json()), 0x40f530bd8ffe51fcULL);
  EXPECT_EQ(checksum(all_numbers()), 0xd34afe4bede4ed84ULL) << all_numbers();
}

// The printed averages are those of the printed cells, but for two slips: so
// the table was copied as it is.
TEST(PaperTables, EveryRowAveragesToWhatIsPrinted) {
  EXPECT_EQ(paper_slips("cifar10").size(), 2u);
  int64_t cells = 0;
  for (const char* scenario : {"benign", "near", "far", "attack", "noise"})
    for (const char* method :
         {"source", "bn_stats", "pseudo_label", "tent", "lame", "cotta", "eata",
          "sar", "rotta", "sotta"})
      for (const auto& corruption : paper_corruptions())
        cells += paper_accuracy("cifar10", scenario, method, corruption) > 0;
  EXPECT_EQ(cells, 5 * 10 * 15);
}

TEST(PaperTables, WhatThePaperDoesNotHaveIsNone) {
  EXPECT_TRUE(std::isnan(paper_accuracy("mnist", "benign", "sotta", "fog")));
  EXPECT_TRUE(std::isnan(paper_accuracy("cifar10", "fire", "sotta", "fog")));
  EXPECT_TRUE(std::isnan(
      paper_average("cifar10", "benign", "mine", paper_corruptions())));
  EXPECT_TRUE(std::isnan(paper_variant("cifar100", "benign", "sotta", "ESM")));
}

TEST(PaperTables, VariantsAreRowsOfTheAblationsAndOfOdin) {
  EXPECT_EQ(paper_variant("cifar10", "benign", "sotta", "HC"), 34.9);
  EXPECT_EQ(
      paper_variant("cifar10", "benign", "sotta", "SoTTA (w/o Continual)"),
      81.0);
  EXPECT_EQ(paper_variant("cifar10", "far", "bn_stats", "ODIN 0.11"), 75.9);
  const auto names = paper_variants();
  EXPECT_EQ(std::count(names.begin(), names.end(), "UC + ESM"), 1);
}

TEST(PaperTables, PrintedAveragesThatAreNotThoseOfTheirCells) {
  const auto slips = paper_slips("cifar10");
  ASSERT_EQ(slips.size(), 2u);
  EXPECT_EQ(slips[0],
            "The paper states 55.9 for LAME under Attack; the cells of its own "
            "table average 55.7.");
  EXPECT_EQ(
      slips[1],
      "The paper states 69.5 for CoTTA under Attack; the cells of its own "
      "table average 64.7.");
  EXPECT_TRUE(paper_slips("cifar100").empty());
  EXPECT_TRUE(paper_slips("mnist").empty());
}

}  // namespace
}  // namespace sotta
