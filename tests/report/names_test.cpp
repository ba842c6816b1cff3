#include "report/names.h"

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
