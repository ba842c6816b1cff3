#include "report/names.h"

#include <tuple>
#include <utility>

#include <gtest/gtest.h>

namespace sotta {
namespace {

using Names = std::vector<std::string>;

TEST(Names, KnownOnesComeInThePapersOrder) {
  EXPECT_EQ(sort_methods({"sotta", "aaa", "source", "tent"}),
            (Names{"source", "tent", "sotta", "aaa"}));
  EXPECT_EQ(sort_scenarios({"noise", "benign", "", "fire"}),
            (Names{"", "benign", "noise", "fire"}));
  EXPECT_EQ(sort_corruptions({"fog", "gaussian_noise", "spatter"}),
            (Names{"gaussian_noise", "fog", "spatter"}));
  EXPECT_EQ(sort_datasets({"mnist", "cifar100", "cifar10"}),
            (Names{"cifar10", "cifar100", "mnist"}));
}

TEST(Names, LabelsAreThePapersOrTheNameItself) {
  EXPECT_EQ(method_label("pseudo_label"), "PL");
  EXPECT_EQ(method_label("mine"), "mine");
  EXPECT_EQ(scenario_label("near"), "Near");
  EXPECT_EQ(corruption_label("jpeg_compression"), "JPEG");
  EXPECT_EQ(option_label("odin_threshold"), "ODIN threshold δ");
}

TEST(Names, EveryMethodHasItsLabelAndALineOfItsOwn) {
  const std::vector<std::tuple<std::string, std::string, int>> known = {
      {"source", "Source", 6},   {"bn_stats", "BN Stats", 5},
      {"pseudo_label", "PL", 8}, {"tent", "TENT", 1},
      {"lame", "LAME", 13},      {"cotta", "CoTTA", 4},
      {"eata", "EATA", 3},       {"sar", "SAR", 10},
      {"rotta", "RoTTA", 2},     {"sotta", "SoTTA", 0},
      {"mine", "mine", 7}};
  for (const auto& [name, label, style] : known) {
    EXPECT_EQ(method_label(name), label);
    EXPECT_EQ(method_style(name), style) << name;
  }
}

TEST(Names, EveryScenarioAndOptionHasItsLabel) {
  const std::vector<std::pair<std::string, std::string>> scenarios = {
      {"", "No stream"}, {"benign", "Benign"}, {"near", "Near"},
      {"far", "Far"},    {"attack", "Attack"}, {"noise", "Noise"}};
  for (const auto& [name, label] : scenarios)
    EXPECT_EQ(scenario_label(name), label);
  const std::vector<std::pair<std::string, std::string>> options = {
      {"min_confidence", "confidence threshold C0"},
      {"stats_momentum", "momentum m of the norm statistics"},
      {"sharpness_radius", "sharpness radius ρ"},
      {"memory_capacity", "memory capacity (samples)"},
      {"learning_rate", "learning rate"},
      {"foreign_count", "number of foreign samples"},
      {"severity", "severity of the corruption"}};
  for (const auto& [name, label] : options)
    EXPECT_EQ(option_label(name), label);
}

TEST(Names, EveryCorruptionOfThePaperHasItsShortLabelInItsOrder) {
  const Names labels = {"Gauss.",  "Shot",     "Impulse", "Defocus", "Glass",
                        "Motion",  "Zoom",     "Snow",    "Frost",   "Fog",
                        "Bright.", "Contrast", "Elastic", "Pixel.",  "JPEG"};
  Names found;
  for (const auto& name : paper_corruptions())
    found.push_back(corruption_label(name));
  EXPECT_EQ(found, labels);
  EXPECT_EQ(corruption_label(""), "None");
}

TEST(Names, SentencesHaveWordsForNoCorruption) {
  EXPECT_EQ(corruption_words("fog"), "fog");
  EXPECT_EQ(corruption_words(""), "uncorrupted images");
}

TEST(Names, ThePaperAveragesOverFifteen) {
  EXPECT_EQ(paper_corruptions().size(), 15u);
  EXPECT_EQ(paper_corruptions().front(), "gaussian_noise");
  EXPECT_EQ(paper_corruptions().back(), "jpeg_compression");
}

}  // namespace
}  // namespace sotta
