#include "sotta/record/run_identity.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

RunRecord example() {
  RunRecord record;
  record.version = "1.0.0";
  record.dataset = "cifar10";
  record.scenario = "noise";
  record.corruption = "fog";
  record.severity = 5;
  record.method = "sotta";
  record.seed = 1;
  record.options = {{"min_confidence", 0.99}, {"window", int64_t{64}}};
  return record;
}

TEST(RunIdentity, ForgetsMachineTimesAndResults) {
  RunRecord other = example();
  other.device = "cuda:1";
  other.threads = 16;
  other.seconds = 3;
  other.accuracy = 80;
  other.version = "1.0.1";
  other.series["accuracy"] = {80};
  EXPECT_EQ(run_identity(other), run_identity(example()));
}

TEST(RunIdentity, KeepsEverythingTheResultDependsOn) {
  const auto differs = [](auto change) {
    RunRecord other = example();
    change(other);
    return run_identity(other) != run_identity(example());
  };
  EXPECT_TRUE(differs([](RunRecord& r) { r.dataset = "cifar100"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.scenario = "far"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.corruption = "snow"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.severity = 3; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.corruption_source = "made"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.method = "tent"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.variant = "HC"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.preset = "paper"; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.seed = 2; }));
  EXPECT_TRUE(differs([](RunRecord& r) { r.options["window"] = int64_t{32}; }));
}

TEST(RunIdentity, SurvivesBeingWrittenAndRead) {
  const RunRecord read = parse_record(to_json(example()), "test");
  EXPECT_EQ(run_identity(read), run_identity(example()));
}

TEST(ShortIdentity, HasSixteenDigitsThatFollowTheText) {
  const std::string digits = short_identity("a");
  EXPECT_EQ(digits.size(), 16u);
  EXPECT_EQ(digits, short_identity("a"));
  EXPECT_NE(digits, short_identity("b"));
}

}  // namespace
}  // namespace sotta
