#include "sotta/adapt/preset.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(Preset, NamesParse) {
  EXPECT_EQ(parse_preset("clean"), Preset::kClean);
  EXPECT_EQ(parse_preset("paper"), Preset::kPaper);
  EXPECT_THROW(parse_preset("papers"), Error);
}

TEST(Preset, OnlyThePaperDecaysWeightsAndOnlyOnCifar) {
  EXPECT_EQ(weight_decay_of(Preset::kClean, 10), 0);
  EXPECT_EQ(weight_decay_of(Preset::kPaper, 10), 5e-4);
  EXPECT_EQ(weight_decay_of(Preset::kPaper, 100), 5e-4);
  EXPECT_EQ(weight_decay_of(Preset::kPaper, 1000), 0);
}

}  // namespace
}  // namespace sotta
