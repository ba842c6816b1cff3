#include "eval/default_options.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

RunRecord record_of(const std::string& method, const std::string& scenario) {
  RunRecord record;
  record.dataset = "cifar10";
  record.method = method;
  record.scenario = scenario;
  return record;
}

TEST(DefaultOptions, AreOfTheMethodTheStreamAndTheScreens) {
  const OptionMap options = default_options(record_of("sotta", "noise"));
  EXPECT_EQ(options.at("min_confidence"), OptionValue(0.99));
  EXPECT_EQ(options.at("window"), OptionValue(int64_t{64}));
  EXPECT_EQ(options.count("odin_threshold"), 1u);
  EXPECT_EQ(options.count("guard"), 1u);
}

TEST(DefaultOptions, GoByThePresetAndTheScenario) {
  RunRecord record = record_of("tent", "noise");
  const OptionMap clean = default_options(record);
  record.preset = "paper";
  EXPECT_NE(default_options(record), clean);
  EXPECT_EQ(clean.count("attack"), 0u);
  EXPECT_EQ(default_options(record_of("tent", "attack")).count("attack"), 1u);
}

TEST(DefaultOptions, OfUnknownNamesThereAreNone) {
  EXPECT_TRUE(default_options(record_of("mine", "noise")).empty());
  RunRecord record = record_of("tent", "noise");
  record.dataset = "mine";
  EXPECT_TRUE(default_options(record).empty());
}

}  // namespace
}  // namespace sotta
