#include "sotta/eval/cell.h"

#include <set>

#include <gtest/gtest.h>
#include <torch/version.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/version.h"

#include "record/run_identity.h"
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
  EXPECT_EQ(record.libtorch, TORCH_VERSION);
  EXPECT_EQ(record.verb, "bench");
  EXPECT_EQ(record.method, "sotta");
  EXPECT_EQ(record.preset, "clean");
  EXPECT_EQ(record.dataset, "cifar10");
  EXPECT_EQ(record.scenario, "noise");
  EXPECT_EQ(record.corruption, "fog");
  EXPECT_EQ(record.severity, 3);
  EXPECT_EQ(record.corruption_source, "made");
  EXPECT_EQ(record.model, "net.safetensors");
  EXPECT_EQ(record.variant, "C0");
  EXPECT_EQ(record.seed, 2);
  EXPECT_EQ(record.method_label, "SoTTA");
  EXPECT_EQ(record.scenario_label, "Noise");
  EXPECT_EQ(record.corruption_label, "Fog");
  EXPECT_EQ(std::get<double>(record.options.at("min_confidence")), 0.5);
  EXPECT_EQ(std::get<double>(record.options.at("sharpness_radius")), 0.05);
  EXPECT_EQ(std::get<int64_t>(record.options.at("window")), 64);
  EXPECT_EQ(std::get<std::string>(record.options.at("foreign")), "mnist:test");
  EXPECT_EQ(record.options.count("odin_threshold"), 0u);
  EXPECT_EQ(record.options.count("attack"), 0u);
}

TEST(Cell, ASequenceOfCorruptionsHasANameOfItsOwn) {
  Cell cell;
  cell.dataset = "cifar10";
  cell.method = "tent";
  cell.stream.corruptions = "all";
  CellFacts facts;
  facts.classes = 10;
  const RunRecord record = describe(cell, facts);
  EXPECT_EQ(record.corruption, "sequence");
  EXPECT_EQ(record.severity, 5);
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

TEST(Cell, ItsRecordHoldsTheOptionsOfThePreset) {
  for (const auto& method : method_names())
    for (const char* preset : {"clean", "paper"}) {
      Cell cell = sotta_cell();
      cell.method = method;
      cell.preset = preset;
      const RunRecord record = describe(cell, facts());
      for (const auto& field :
           method_options(method, parse_preset(preset), facts().classes))
        EXPECT_EQ(record.options.at(field.name), field.value)
            << method << " " << preset << " " << field.name;
    }
}

// A cell to which every option means something.
Cell busy_cell(const std::string& method) {
  Cell cell = sotta_cell();
  cell.method = method;
  cell.stream.scenario = "attack";
  cell.odin.threshold = 0.1;
  cell.guard.action = "skip";
  cell.gradient_samples = 1;
  return cell;
}

// Another value of the same type.
OptionValue other_than(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number + 1;
  if (const auto* number = std::get_if<double>(&value)) return *number + 0.125;
  return std::get<std::string>(value) + "x";
}

// What the opened data say in the record, and what changes speed alone.
bool is_no_part(const std::string& name) {
  return name == "foreign" || name == "read_ahead";
}

TEST(Cell, EveryOptionOfEveryMethodIsPartOfItsIdentity) {
  for (const auto& method : method_names()) {
    const Cell plain = busy_cell(method);
    const RunRecord before = describe(plain, facts());
    for (const auto& name : cell_option_names(plain, 10)) {
      if (is_no_part(name)) continue;
      SCOPED_TRACE(method + " " + name);
      ASSERT_EQ(before.options.count(name), 1u);
      const std::string other = to_text(other_than(before.options.at(name)));
      Cell cell = plain;
      set(cell, name, other);
      const RunRecord after = describe(cell, facts());
      EXPECT_EQ(to_text(after.options.at(name)), other);
      EXPECT_NE(run_identity(after), run_identity(before));
    }
  }
}

// Struct by struct, so that an option that cannot be set is not left out.
template <class Options>
void expect_all_in_identity(Options Cell::*part) {
  const Cell plain = busy_cell("sotta");
  const std::string before = run_identity(describe(plain, facts()));
  for (const auto& field : option_fields(plain.*part)) {
    if (is_no_part(field.name)) continue;
    Cell cell = plain;
    const OptionValue other = field.name == "scenario"
                                  ? OptionValue("noise")
                                  : other_than(field.value);
    assign_options(cell.*part, {{field.name, other}}, "cell");
    EXPECT_NE(run_identity(describe(cell, facts())), before) << field.name;
  }
}

TEST(Cell, EveryFieldOfItsPartsIsPartOfItsIdentity) {
  expect_all_in_identity(&Cell::stream);
  expect_all_in_identity(&Cell::odin);
  expect_all_in_identity(&Cell::guard);
  expect_all_in_identity(&Cell::attack);
}

TEST(Cell, WhatElseItsResultDependsOnIsPartOfItsIdentity) {
  const Cell plain = busy_cell("sotta");
  const std::string before = run_identity(describe(plain, facts()));
  const auto expect_change = [&](const auto& change) {
    Cell cell = plain;
    CellFacts found = facts();
    change(cell, found);
    EXPECT_NE(run_identity(describe(cell, found)), before);
  };
  using C = Cell;
  using F = CellFacts;
  expect_change([](C& c, F&) { c.dataset = "cifar100"; });
  expect_change([](C& c, F&) { c.method = "tent"; });
  expect_change([](C& c, F&) { c.variant = "C0"; });
  expect_change([](C& c, F&) { c.preset = "paper"; });
  expect_change([](C& c, F&) { c.gradient_samples = 2; });
  expect_change([](C&, F& f) { f.model_checksum = "other"; });
  expect_change([](C&, F& f) { f.corruption_source = "published"; });
  expect_change([](C&, F& f) { f.foreign = "cifar10:test"; });
}

TEST(Cell, AScreenAndAGuardThatAreOffAreNoPartOfIt) {
  const std::string before = run_identity(describe(sotta_cell(), facts()));
  Cell cell = sotta_cell();
  cell.odin.temperature = 7;
  cell.guard.history = 7;
  cell.attack.steps = 7;
  EXPECT_EQ(run_identity(describe(cell, facts())), before);
}

TEST(Cell, TheAttackIsRecordedWhereThereIsOne) {
  Cell cell = sotta_cell();
  cell.stream.scenario = "attack";
  EXPECT_EQ(std::get<std::string>(describe(cell, facts()).options.at("attack")),
            "paper");
}

TEST(Cell, SeverityIsTheGridsTooAndCannotBeSet) {
  Cell cell = sotta_cell();
  expect_error(ErrorKind::kInvalid, "row: unknown name \"severity\"",
               [&] { set(cell, "severity", "1"); });
}

// Those of the method, the stream without the axes, the screen, the guard, the
// attack, and one of the run itself.
TEST(Cell, ItsOptionsAreThoseOfAllItsParts) {
  const Cell cell = sotta_cell();
  std::multiset<std::string> expected = {"gradient_samples"};
  const auto expect_all = [&](const std::vector<OptionField>& fields) {
    for (const auto& field : fields)
      expected.insert(field.name);
  };
  expect_all(method_options("sotta", Preset::kClean, 10));
  expect_all(option_fields(cell.stream));
  expect_all(option_fields(cell.odin));
  expect_all(option_fields(cell.guard));
  expect_all(option_fields(cell.attack));
  for (const char* axis : {"scenario", "corruptions", "severity", "seed"})
    ASSERT_EQ(expected.erase(axis), 1u) << axis;

  const auto names = cell_option_names(cell, 10);
  EXPECT_EQ(std::multiset<std::string>(names.begin(), names.end()), expected);
}

TEST(Cell, ItsRecordHoldsNoOptionOfWhatIsOff) {
  const OptionMap options = describe(sotta_cell(), facts()).options;
  for (const char* name :
       {"gradient_samples", "odin_threshold", "odin_temperature", "guard",
        "guard_history", "attack", "attack_steps", "read_ahead", "seed",
        "severity", "scenario", "corruptions"})
    EXPECT_EQ(options.count(name), 0u) << name;
  EXPECT_EQ(std::get<std::string>(options.at("model_checksum")),
            "0123456789abcdef");
}

TEST(Cell, ItsModelIsAFileNameWithoutFolders) {
  Cell cell = sotta_cell();
  for (const char* file : {"n.pt", "/n.pt", "a/n.pt", "/a.b/c/n.pt"}) {
    cell.model = file;
    EXPECT_EQ(describe(cell, facts()).model, "n.pt") << file;
  }
}

}  // namespace
}  // namespace sotta
