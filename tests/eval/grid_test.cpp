#include "sotta/eval/grid.h"

#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

using Changes = std::vector<std::pair<std::string, std::string>>;

Grid small_grid() {
  Grid grid;
  grid.dataset = "cifar10";
  grid.model = "net_s{seed}.safetensors";
  grid.rows = {{"", "tent", {}}, {"", "sotta", {}}};
  grid.scenarios = {"benign", "noise"};
  grid.corruptions = {"fog", "none"};
  grid.seeds = {0, 1};
  return grid;
}

TEST(ParseVariant, ReadsNameMethodAndOptions) {
  const GridRow row =
      parse_variant("HC + ESM: sotta memory=confident_fifo frozen=");
  EXPECT_EQ(row.variant, "HC + ESM");
  EXPECT_EQ(row.method, "sotta");
  EXPECT_EQ(row.changes,
            (Changes{{"memory", "confident_fifo"}, {"frozen", ""}}));
}

TEST(ParseVariant, IsNamedAfterItsOptionsOtherwise) {
  EXPECT_EQ(parse_variant("sotta memory=fifo sharpness=false").variant,
            "memory=fifo sharpness=false");
}

TEST(ParseVariant, AColonWithinAWordEndsNoName) {
  const GridRow plain = parse_variant("sotta foreign=mnist:train");
  EXPECT_EQ(plain.method, "sotta");
  EXPECT_EQ(plain.variant, "foreign=mnist:train");
  EXPECT_EQ(plain.changes, (Changes{{"foreign", "mnist:train"}}));

  const GridRow shortest = parse_variant("sotta foreign=folder:a");
  EXPECT_EQ(shortest.method, "sotta");
  EXPECT_EQ(shortest.variant, "foreign=folder:a");

  const GridRow named = parse_variant("1:1 mix: sotta foreign=folder:a");
  EXPECT_EQ(named.variant, "1:1 mix");
  EXPECT_EQ(named.method, "sotta");
  EXPECT_EQ(named.changes, (Changes{{"foreign", "folder:a"}}));
}

TEST(ParseVariant, RefusesWhatIsNoRow) {
  expect_error(ErrorKind::kInvalid, "expected a method",
               [] { parse_variant("HC:"); });
  expect_error(ErrorKind::kInvalid, "expected a method",
               [] { parse_variant("memory=fifo"); });
  expect_error(ErrorKind::kInvalid, "expected option=value, got \"fifo\"",
               [] { parse_variant("HC: sotta fifo"); });
}

TEST(ParseSweep, GivesARowPerValue) {
  const auto rows = parse_sweep("sotta min_confidence=0.5,0.9 memory=fifo");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].variant, "min_confidence=0.5");
  EXPECT_EQ(rows[1].changes,
            (Changes{{"min_confidence", "0.9"}, {"memory", "fifo"}}));
}

TEST(ParseSweep, VariesExactlyOneOption) {
  expect_error(ErrorKind::kInvalid, "several values",
               [] { parse_sweep("sotta memory=fifo"); });
  expect_error(ErrorKind::kInvalid, "got more",
               [] { parse_sweep("sotta a=1,2 b=3,4"); });
}

TEST(Expand, CrossesRowsScenariosCorruptionsAndSeeds) {
  const auto cells = expand(small_grid());
  ASSERT_EQ(cells.size(), 16u);

  // Cells of one stream follow one another.
  EXPECT_EQ(cells[0].method, "tent");
  EXPECT_EQ(cells[1].method, "sotta");
  EXPECT_EQ(cells[1].stream.scenario, "benign");
  EXPECT_EQ(cells[2].stream.scenario, "noise");
  EXPECT_EQ(cells[3].stream.seed, 0);
  EXPECT_EQ(cells[4].stream.seed, 1);
  EXPECT_EQ(cells[4].model, "net_s1.safetensors");
  EXPECT_EQ(cells[7].stream.corruptions, "fog");
  EXPECT_EQ(cells[8].stream.corruptions, "");
}

TEST(Expand, EverySeedInTheModelsNameIsReplaced) {
  Grid grid = small_grid();
  grid.model = "seed{seed}/net_s{seed}.safetensors";
  EXPECT_EQ(expand(grid)[4].model, "seed1/net_s1.safetensors");
}

TEST(Expand, AllStandsForEveryMethodScenarioAndTheFifteenCorruptions) {
  Grid grid = small_grid();
  grid.rows = {{"", "all", {}}};
  grid.scenarios = {"all"};
  grid.corruptions = {"all"};
  EXPECT_EQ(expand(grid).size(), method_names().size() * 5 * 15 * 2);
}

TEST(Expand, RowsChangeWhatAllCellsHaveInCommon) {
  Grid grid = small_grid();
  grid.changes = {{"foreign_count", "100"}, {"attack_steps", "2"}};
  grid.rows = {{"few", "sotta", {{"foreign_count", "50"}}}, {"", "sotta", {}}};
  const auto cells = expand(grid);
  EXPECT_EQ(cells[0].stream.foreign_count, 50);
  EXPECT_EQ(cells[1].stream.foreign_count, 100);
  EXPECT_EQ(cells[0].attack.steps, 2);
}

TEST(Expand, CommonChangesReachTheMethodsThatHaveTheOption) {
  Grid grid = small_grid();
  grid.changes = {{"min_confidence", "0.5"}};
  const auto cells = expand(grid);
  EXPECT_TRUE(cells[0].method_changes.empty());
  EXPECT_EQ(cells[1].method_changes.count("min_confidence"), 1u);

  grid.changes = {{"min_confidense", "0.5"}};
  expect_error(ErrorKind::kInvalid, "did you mean \"min_confidence\"",
               [&] { expand(grid); });
}

TEST(Expand, AForeignSetIsForNearAndFar) {
  Grid grid = small_grid();
  grid.scenarios = {"far", "noise"};
  grid.stream.foreign = "mnist:train";
  const auto cells = expand(grid);
  EXPECT_EQ(cells[0].stream.foreign, "mnist:train");
  EXPECT_EQ(cells[2].stream.foreign, "");
}

TEST(Expand, RefusesUnknownNames) {
  const auto refuses = [](const std::string& text, auto change) {
    Grid grid = small_grid();
    change(grid);
    expect_error(ErrorKind::kInvalid, text, [&] { expand(grid); });
  };
  refuses("did you mean \"sotta\"", [](Grid& g) {
    g.rows = {{"", "sota", {}}};
  });
  refuses("did you mean \"noise\"", [](Grid& g) { g.scenarios = {"noize"}; });
  refuses("did you mean \"fog\"", [](Grid& g) { g.corruptions = {"fogg"}; });
  refuses("did you mean \"cifar10\"", [](Grid& g) { g.dataset = "cifar1"; });
  refuses("variant \"x\": unknown name \"memmory\"", [](Grid& g) {
    g.rows = {{"x", "sotta", {{"memmory", "fifo"}}}};
  });
  refuses("augmentations belongs to cotta, which is not among the rows",
          [](Grid& g) {
            g.rows = {{"", "sotta", {}}};
            g.changes = {{"augmentations", "4"}};
          });
  refuses("option: unknown name \"no_such\"", [](Grid& g) {
    g.changes = {{"no_such", "4"}};
  });
  refuses("preset", [](Grid& g) { g.preset = "published"; });
  refuses("severity", [](Grid& g) { g.stream.severity = 6; });
}

TEST(Expand, RefusesEmptyAxesAndTwins) {
  const auto refuses = [](const std::string& text, auto change) {
    Grid grid = small_grid();
    change(grid);
    expect_error(ErrorKind::kInvalid, text, [&] { expand(grid); });
  };
  refuses("method", [](Grid& g) { g.rows.clear(); });
  refuses("scenario", [](Grid& g) { g.scenarios.clear(); });
  refuses("seeds", [](Grid& g) { g.seeds.clear(); });
  refuses("seeds: expected each once, 3 is given twice", [](Grid& g) {
    g.seeds = {3, 1, 3};
  });
  refuses("corruption: expected each once, fog is given twice", [](Grid& g) {
    g.corruptions = {"fog", "fog"};
  });
  refuses("corruption: expected each once, fog is given twice", [](Grid& g) {
    g.corruptions = {"all", "fog"};
  });
  refuses("scenario: expected each once, noise is given twice", [](Grid& g) {
    g.scenarios = {"noise", "noise"};
  });
  refuses("option: expected each once, window is given twice", [](Grid& g) {
    g.changes = {{"window", "8"}, {"window", "8"}};
  });
  refuses("variant \"v\": expected each once, window is given twice",
          [](Grid& g) {
            g.rows = {{"v", "tent", {{"window", "8"}, {"window", "16"}}}};
          });
  refuses("given twice", [](Grid& g) {
    g.rows = {{"", "tent", {}}, {"", "all", {}}};
  });
}

TEST(ParseChange, NeedsANameAndTakesAnyValue) {
  EXPECT_EQ(parse_change("a=b", "x"), (Changes::value_type{"a", "b"}));
  EXPECT_EQ(parse_change("a=", "x"), (Changes::value_type{"a", ""}));
  EXPECT_EQ(parse_change("a=b=c", "x"), (Changes::value_type{"a", "b=c"}));
  for (const char* word : {"=b", "b", "="})
    expect_error(ErrorKind::kInvalid,
                 "x: expected option=value, got \"" + std::string(word) + "\"",
                 [&] { parse_change(word, "x"); });
}

TEST(ParseVariant, OptionsThatNameItAreJoinedInOrder) {
  EXPECT_EQ(parse_variant("sotta memory=fifo a=1 b=").variant,
            "memory=fifo a=1 b=");
  EXPECT_EQ(parse_variant("sotta").variant, "");
}

TEST(ParseVariant, SaysWhatItWasGiven) {
  expect_error(ErrorKind::kInvalid,
               "variant \"x: a=1\": expected a method and options, as in \"HC: "
               "sotta memory=confident_fifo\", got \" a=1\"",
               [] { parse_variant("x: a=1"); });
}

TEST(ParseSweep, TheSweptOptionMayStandAnywhere) {
  const auto rows = parse_sweep("sotta memory=fifo min_confidence=0.5,0.9,1");
  ASSERT_EQ(rows.size(), 3u);
  const char* values[] = {"0.5", "0.9", "1"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].method, "sotta");
    EXPECT_EQ(rows[i].variant, "min_confidence=" + std::string(values[i]));
    EXPECT_EQ(rows[i].changes,
              (Changes{{"memory", "fifo"}, {"min_confidence", values[i]}}));
  }
}

TEST(Expand, EveryCellHasWhatTheGridSaysOfAll) {
  for (const char* preset : {"clean", "paper"})
    for (const char* dataset : {"cifar10", "imagenet"}) {
      Grid grid = small_grid();
      grid.dataset = dataset;
      grid.preset = preset;
      grid.rows[1].variant = "named";
      grid.stream.limit = 7;
      const auto expected = AttackOptions::preset(
          parse_preset(preset), dataset == std::string("cifar10") ? 10 : 1000);
      const auto cells = expand(grid);
      ASSERT_EQ(cells.size(), 16u);
      for (size_t i = 0; i < cells.size(); ++i) {
        EXPECT_EQ(cells[i].dataset, dataset);
        EXPECT_EQ(cells[i].preset, preset);
        EXPECT_EQ(cells[i].variant, i % 2 == 0 ? "" : "named");
        EXPECT_EQ(cells[i].stream.limit, 7);
        EXPECT_EQ(to_option_map(cells[i].attack), to_option_map(expected));
      }
    }
}

TEST(Expand, ASequenceOfCorruptionsIsOneCell) {
  Grid grid = small_grid();
  grid.corruptions = {"sequence"};
  const auto cells = expand(grid);
  ASSERT_EQ(cells.size(), 8u);
  EXPECT_EQ(cells[0].stream.corruptions, "all");
  EXPECT_EQ(cells[0].stream.domains, "continual");
}

TEST(Expand, AForeignSetIsForNearAndFarAlone) {
  Grid grid = small_grid();
  grid.rows = {{"", "tent", {}}};
  grid.scenarios = {"all"};
  grid.corruptions = {"none"};
  grid.seeds = {0};
  grid.stream.foreign = "mnist:train";
  for (const Cell& cell : expand(grid)) {
    const std::string scenario = cell.stream.scenario;
    EXPECT_EQ(cell.stream.foreign,
              scenario == "near" || scenario == "far" ? "mnist:train" : "")
        << scenario;
  }
}

TEST(Expand, ChecksTheStreamsOptions) {
  Grid grid = small_grid();
  grid.changes = {{"window", "0"}};
  expect_error(ErrorKind::kInvalid, "window", [&] { expand(grid); });
  grid = small_grid();
  grid.stream.severity = 0;
  expect_error(ErrorKind::kInvalid, "severity", [&] { expand(grid); });
  for (const int64_t severity : {1, 5}) {
    grid.stream.severity = severity;
    EXPECT_EQ(expand(grid)[0].stream.severity, severity);
  }
}

TEST(Expand, NamesEmptyAxesAndTwinRows) {
  const auto refuses = [](const std::string& text, auto change) {
    Grid grid = small_grid();
    change(grid);
    expect_error(ErrorKind::kInvalid, text, [&] { expand(grid); });
  };
  refuses("method: expected at least one", [](Grid& g) { g.rows.clear(); });
  refuses("scenario: expected at least one",
          [](Grid& g) { g.scenarios.clear(); });
  refuses("corruption: expected at least one",
          [](Grid& g) { g.corruptions.clear(); });
  refuses("seeds: expected at least one", [](Grid& g) { g.seeds.clear(); });
  refuses("tent: is given twice for method tent", [](Grid& g) {
    g.rows = {{"", "tent", {}}, {"", "tent", {}}};
  });
  refuses("variant \"v\": is given twice for method tent", [](Grid& g) {
    g.rows = {{"v", "tent", {}}, {"v", "tent", {}}};
  });
  Grid grid = small_grid();
  grid.rows = {{"v", "tent", {}}, {"v", "sotta", {}}, {"w", "tent", {}}};
  EXPECT_EQ(expand(grid).size(), 24u);
}

TEST(Expand, AnOptionIsMissingOnlyIfNoRowHasIt) {
  Grid grid = small_grid();
  grid.rows = {{"", "sotta", {}}, {"", "tent", {}}};
  grid.changes = {{"min_confidence", "0.5"},
                  {"odin_threshold", "0.25"},
                  {"guard_history", "3"},
                  {"gradient_samples", "2"}};
  const auto cells = expand(grid);
  EXPECT_EQ(std::get<double>(cells[0].method_changes.at("min_confidence")),
            0.5);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cells[i].odin.threshold, 0.25);
    EXPECT_EQ(cells[i].guard.history, 3);
    EXPECT_EQ(cells[i].gradient_samples, 2);
  }
  grid.changes = {{"guard_histori", "3"}};
  expect_error(ErrorKind::kInvalid, "did you mean \"guard_history\"",
               [&] { expand(grid); });
}

}  // namespace
}  // namespace sotta
