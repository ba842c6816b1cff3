#include "report/run_settings.h"

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;
using testing::with_option;
using testing::with_variant;
using Names = std::set<std::string>;

TEST(RunSettings, OptionsThatRepeatAFieldAreNotSettings) {
  auto record =
      with_option(run("tent", "noise", "fog", 1, 80), "seed", int64_t{1});
  record = with_option(record, "read_ahead", int64_t{5});
  record = with_option(record, "step", 0.1);
  const Settings settings = settings_of(record);
  EXPECT_EQ(settings.count("seed"), 0u);
  EXPECT_EQ(settings.count("read_ahead"), 0u);
  EXPECT_EQ(settings.at("step"), "0.1");
}

TEST(RunSettings, TheMachineIsNoSetting) {
  const auto here = run("tent", "noise", "fog", 1, 80);
  auto there = here;
  there.device = "cuda:0";
  there.engine = "fused-avx3";
  EXPECT_EQ(settings_of(there), settings_of(here));
}

TEST(RunSettings, VariedIsWhatDiffersInOnePlace) {
  const auto base =
      with_option(run("tent", "noise", "fog", 0, 80), "step", 1.0);
  auto other_seed = base;
  other_seed.seed = 1;
  other_seed.model = "s1.safetensors";  // goes with the seed: not varied
  const auto tried = with_option(base, "step", 2.0);
  EXPECT_EQ(varied_settings({&base, &other_seed}), Names{});
  EXPECT_EQ(varied_settings({&base, &other_seed, &tried}), Names{"step"});
}

TEST(RunSettings, AnOptionThatOneLacksIsVaried) {
  const auto base = run("tent", "noise", "fog", 0, 80);
  const auto tried = with_option(base, "odin_threshold", 0.1);
  EXPECT_EQ(varied_settings({&base, &tried}), Names{"odin_threshold"});
  EXPECT_EQ(varied_settings({&tried, &base}), Names{"odin_threshold"});
}

TEST(RunSettings, WhatGoesWithAVariantIsVariedOnlyOverVariants) {
  const auto base = with_option(run("sotta", "noise", "fog", 0, 80), "memory",
                                std::string("hus"));
  const auto variant =
      with_variant(with_option(base, "memory", std::string("fifo")), "ESM");
  EXPECT_EQ(varied_settings({&base, &variant}), Names{});
  EXPECT_EQ(varied_over_variants({&base, &variant}), Names{"memory"});
}

TEST(RunSettings, NoOptionThatRepeatsAFieldOrChangesSpeedIsASetting) {
  RunRecord record = run("tent", "noise", "fog", 1, 80);
  const Settings before = settings_of(record);
  for (const char* name :
       {"corruption", "corruptions", "data", "dataset", "jobs", "method", "out",
        "preset", "read_ahead", "scenario", "seed", "severity", "threads",
        "variant"})
    record.options[name] = std::string("other");
  EXPECT_EQ(settings_of(record), before);
}

TEST(RunSettings, EveryPartOfAPlaceKeepsRunsApart) {
  const auto base =
      with_option(run("tent", "noise", "fog", 0, 80), "step", 1.0);
  const auto varied_with = [&](const auto& change) {
    RunRecord other = with_option(base, "step", 2.0);
    change(other);
    return varied_settings({&base, &other});
  };
  EXPECT_EQ(varied_with([](RunRecord&) {}), Names{"step"});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.dataset = "x"; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.scenario = "x"; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.corruption = "x"; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.method = "x"; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.preset = "x"; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.seed = 7; }), Names{});
  EXPECT_EQ(varied_with([](RunRecord& r) { r.variant = "x"; }), Names{});
}

}  // namespace
}  // namespace sotta
