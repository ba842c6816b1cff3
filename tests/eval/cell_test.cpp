#include "sotta/eval/cell.h"

#include <gtest/gtest.h>

#include "sotta/core/version.h"
#include "sotta/record/run_identity.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

Cell sotta_cell() {
  Cell cell;
  cell.dataset = "cifar10";
  cell.model = "models/net.safetensors";
  cell.method = "sotta";
  cell.stream.scenario = "noise";
  cell.stream.corruptions = "fog";
  cell.stream.severity = 3;
  cell.stream.seed = 2;
  return cell;
}

void set(Cell& cell, const std::string& name, const std::string& text) {
  set_cell_option(cell, name, text, 10, "row");
}

CellFacts facts() {
  return {10, "0123456789abcdef", "made", "mnist:test"};
}

TEST(Cell, OptionsFindTheirPlaceByName) {
  Cell cell = sotta_cell();
  set(cell, "min_confidence", "0.5");
  set(cell, "foreign_count", "5000");
  set(cell, "odin_threshold", "0.105");
  set(cell, "guard", "skip");
  set(cell, "attack", "surrogate");
  set(cell, "gradient_samples", "4");

  EXPECT_EQ(std::get<double>(cell.method_changes.at("min_confidence")), 0.5);
  EXPECT_EQ(cell.stream.foreign_count, 5000);
  EXPECT_EQ(cell.odin.threshold, 0.105);
  EXPECT_EQ(cell.guard.action, "skip");
  EXPECT_EQ(cell.attack.mode, "surrogate");
  EXPECT_EQ(cell.gradient_samples, 4);
}

TEST(Cell, UnknownOptionsAreNamedWithTheNearest) {
  Cell cell = sotta_cell();
  expect_error(ErrorKind::kInvalid, "did you mean \"min_confidence\"",
               [&] { set(cell, "min_confidense", "0.5"); });
  expect_error(ErrorKind::kInvalid, "expected a number",
               [&] { set(cell, "min_confidence", "high"); });
}

TEST(Cell, WhatTheGridVariesCannotBeSet) {
  Cell cell = sotta_cell();
  for (const char* axis : {"scenario", "corruptions", "seed"})
    expect_error(ErrorKind::kInvalid, "unknown name",
                 [&] { set(cell, axis, "1"); });
}

TEST(Cell, ItsRecordSaysWhatIsRun) {
  Cell cell = sotta_cell();
  cell.variant = "C0";
  set(cell, "min_confidence", "0.5");

  const RunRecord record = describe(cell, facts());
  EXPECT_EQ(record.version, version());
  EXPECT_EQ(record.verb, "bench");
  EXPECT_EQ(record.dataset, "cifar10");
  EXPECT_EQ(record.scenario, "noise");
  EXPECT_EQ(record.corruption, "fog");
  EXPECT_EQ(record.severity, 3);
  EXPECT_EQ(record.corruption_source, "made");
  EXPECT_EQ(record.model, "net.safetensors");
  EXPECT_EQ(record.variant, "C0");
  EXPECT_EQ(record.seed, 2);
  EXPECT_EQ(std::get<double>(record.options.at("min_confidence")), 0.5);
  EXPECT_EQ(std::get<double>(record.options.at("sharpness_radius")), 0.05);
  EXPECT_EQ(std::get<int64_t>(record.options.at("window")), 64);
  EXPECT_EQ(std::get<std::string>(record.options.at("foreign")), "mnist:test");
  EXPECT_EQ(record.options.count("odin_threshold"), 0u);
  EXPECT_EQ(record.options.count("attack"), 0u);
}

TEST(Cell, SeverityMeansNothingWithoutACorruption) {
  Cell cell = sotta_cell();
  cell.stream.corruptions.clear();
  EXPECT_EQ(describe(cell, facts()).severity, 0);
}

TEST(Cell, WhatOnlyChangesSpeedIsNoPartOfItsIdentity) {
  const std::string identity = run_identity(describe(sotta_cell(), facts()));
  Cell cell = sotta_cell();
  cell.stream.read_ahead = 7;
  EXPECT_EQ(run_identity(describe(cell, facts())), identity);
  cell.stream.limit = 7;
  EXPECT_NE(run_identity(describe(cell, facts())), identity);

  CellFacts other = facts();
  other.model_checksum = "other";
  EXPECT_NE(run_identity(describe(sotta_cell(), other)), identity);
}

TEST(Cell, TheAttackIsRecordedWhereThereIsOne) {
  Cell cell = sotta_cell();
  cell.stream.scenario = "attack";
  EXPECT_EQ(std::get<std::string>(describe(cell, facts()).options.at("attack")),
            "paper");
}

}  // namespace
}  // namespace sotta
