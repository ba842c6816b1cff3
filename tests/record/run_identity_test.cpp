#include "record/run_identity.h"

#include <set>
#include <type_traits>

#include <gtest/gtest.h>

namespace sotta {
namespace {

RunRecord example() {
  RunRecord record;
  record.version = "1.0.0";
  record.verb = "bench";
  record.model = "a.safetensors";
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

TEST(RunIdentity, OfARecordOfAnEarlierVersionIsThatOfNow) {
  RunRecord now = example(), earlier = example();
  now.verb = earlier.verb = "train";
  now.options["cuda_graphs"] = true;
  earlier.options["replay"] = true;
  EXPECT_EQ(run_identity(parse_record(to_json(earlier), "test")),
            run_identity(parse_record(to_json(now), "test")));
}

// Of every field there is, whether it is part of the identity.
TEST(RunIdentity, HoldsTheseFieldsAndNoOthers) {
  const std::set<std::string> kParts = {
      "verb",       "dataset",  "scenario",
      "corruption", "severity", "corruption_source",
      "model",      "method",   "variant",
      "preset",     "seed",     "options"};
  RunRecord changed = example();
  changed.visit([&](const char* name, auto& field) {
    const auto before = field;
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, std::string>)
      field += "x";
    else if constexpr (std::is_same_v<Field, OptionMap>)
      field["another"] = int64_t{1};
    else if constexpr (std::is_same_v<Field, Series>)
      field["another"] = {1};
    else
      field = 77;
    EXPECT_EQ(run_identity(changed) != run_identity(example()),
              kParts.count(name) > 0)
        << name;
    field = before;
  });
}

TEST(RunIdentity, IsThisText) {
  EXPECT_EQ(run_identity(example()),
            "verb=bench dataset=cifar10 scenario=noise corruption=fog "
            "severity=5 source= model=a.safetensors method=sotta variant= "
            "preset=clean seed=1 min_confidence=0.99 window=64");
}

TEST(RunIdentity, KnowsAModelByItsChecksumOrElseItsName) {
  RunRecord renamed = example();
  renamed.model = "b.safetensors";
  EXPECT_NE(run_identity(renamed), run_identity(example()));
  RunRecord checked = example();
  checked.options[kModelChecksum] = "1f";
  renamed.options[kModelChecksum] = "1f";
  EXPECT_EQ(run_identity(renamed), run_identity(checked));
}

TEST(LastOfEach, KeepsTheLastOfEveryIdentityInItsPlace) {
  std::vector<RunRecord> records(5);
  for (int64_t i = 0; i < 5; ++i) {
    records[i].threads = i;
    records[i].method = i % 2 == 0 ? "even" : "odd";
  }
  records[4].method = "own";
  const auto kept = last_of_each(records);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].threads, 2);
  EXPECT_EQ(kept[1].threads, 3);
  EXPECT_EQ(kept[2].threads, 4);
}

TEST(ShortIdentity, DependsOnEveryLetterAndItsPlace) {
  EXPECT_NE(short_identity("ab"), short_identity("ba"));
  EXPECT_NE(short_identity("aab"), short_identity("ab"));
  EXPECT_NE(short_identity("ab"), short_identity("abc"));
  EXPECT_EQ(short_identity("dataset=cifar10").size(), 16u);
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
