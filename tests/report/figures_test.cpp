#include "report/figures/figures.h"

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

TEST(Figures, NamesAreFitForFiles) {
  RunGroup group;
  group.dataset = "a/b c";
  group.preset = "clean";
  EXPECT_EQ(figure_name(group, "x_1%"), "a-b-c-clean-x_1-");
}

TEST(Figures, NothingIsDrawnWithoutData) {
  const std::vector<RunRecord> records = {
      testing::run("sotta", "noise", "fog", 0, 80)};
  EXPECT_TRUE(make_figures(group_runs(records).at(0)).empty());
}

TEST(Figures, LettersBeyondAsciiAreNotForFiles) {
  RunGroup group;
  group.dataset = "aZ09";
  group.preset = "ö";
  EXPECT_EQ(figure_name(group, "x"), "aZ09----x");
}

}  // namespace
}  // namespace sotta
