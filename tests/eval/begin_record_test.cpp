#include "eval/begin_record.h"

#include <gtest/gtest.h>
#include <torch/version.h>

#include "sotta/core/version.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(BeginRecord, SaysWhatIsRunByWhatAndUnderWhichLabels) {
  const RunRecord record =
      begin_record({"bench", "cifar10", "bn_stats", "near", "fog"});
  EXPECT_EQ(record.version, version());
  EXPECT_EQ(record.libtorch, TORCH_VERSION);
  EXPECT_EQ(record.verb, "bench");
  EXPECT_EQ(record.dataset, "cifar10");
  EXPECT_EQ(record.method, "bn_stats");
  EXPECT_EQ(record.method_label, "BN Stats");
  EXPECT_EQ(record.scenario, "near");
  EXPECT_EQ(record.scenario_label, "Near");
  EXPECT_EQ(record.corruption, "fog");
  EXPECT_EQ(record.corruption_label, "Fog");
}

TEST(BeginRecord, WhatIsNotThereHasNoLabel) {
  const RunRecord record = begin_record({"train", "cifar10"});
  EXPECT_EQ(record.method_label, "Source");
  EXPECT_EQ(record.scenario_label, "");
  EXPECT_EQ(record.corruption_label, "");
  EXPECT_EQ(begin_record({"demo", "cifar10", "tent", "noise", "fog,snow"})
                .corruption_label,
            "");
}

TEST(BeginRecord, RefusesUnknownMethodsAndScenarios) {
  testing::expect_error(ErrorKind::kInvalid, "did you mean \"tent\"", [] {
    begin_record({"bench", "cifar10", "tnt"});
  });
  testing::expect_error(ErrorKind::kInvalid, "did you mean \"near\"", [] {
    begin_record({"bench", "cifar10", "tent", "neer"});
  });
}

}  // namespace
}  // namespace sotta
