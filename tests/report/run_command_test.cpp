#include "report/run_command.h"

#include <gtest/gtest.h>

#include "report/names.h"
#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;
using testing::with_option;
using testing::with_variant;

RunRecord sotta_run(const std::string& corruption = "fog", int64_t seed = 0) {
  RunRecord record = run("sotta", "noise", corruption, seed, 80);
  record.model = "resnet_s" + std::to_string(seed) + ".safetensors";
  record.options = {{"learning_rate", 0.001},
                    {"window", int64_t{64}},
                    {kModelChecksum, std::string("abc")}};
  return record;
}

OptionMap window_of_64(const RunRecord&) {
  return {{"window", int64_t{64}}, {"learning_rate", 0.01}};
}

Flags flags_of(const std::vector<RunRecord>& records,
               const DefaultOptions& defaults = window_of_64) {
  std::vector<const RunRecord*> runs;
  for (const RunRecord& record : records)
    runs.push_back(&record);
  return bench_flags(runs, defaults);
}

TEST(BenchFlags, NameTheRunAndWhatWasSet) {
  EXPECT_EQ(flags_of({sotta_run()}),
            (Flags{"--dataset cifar10", "--model resnet_s0.safetensors",
                   "--method sotta", "--set learning_rate=0.001", "--seeds 0",
                   "--severity 5", "--scenario noise", "--corruption fog"}));
}

TEST(BenchFlags, WithoutDefaultsAllOptionsAreNamed) {
  const Flags flags = flags_of({sotta_run()}, {});
  EXPECT_EQ(flags.at(4), "--set window=64");
}

TEST(BenchFlags, HaveTheMachineAndThePreset) {
  RunRecord record = with_option(sotta_run(), "precision", std::string("bf16"));
  record.device = "cuda:0";
  record.preset = "paper";
  const Flags flags = flags_of({record});
  EXPECT_EQ(Flags(flags.begin() + 4, flags.begin() + 8),
            (Flags{"--preset paper", "--seeds 0", "--precision bf16",
                   "--device cuda:0"}));
}

TEST(BenchFlags, SeedsChooseTheModel) {
  const Flags flags = flags_of({sotta_run("fog", 0), sotta_run("fog", 1)});
  EXPECT_EQ(flags.at(1), "--model 'resnet_s{seed}.safetensors'");
  EXPECT_EQ(flags.at(4), "--seeds 0,1");
}

TEST(BenchFlags, FifteenCorruptionsAreAll) {
  std::vector<RunRecord> records;
  for (const auto& corruption : paper_corruptions())
    records.push_back(sotta_run(corruption));
  EXPECT_EQ(flags_of(records).back(), "--corruption all");
  records.pop_back();
  EXPECT_NE(flags_of(records).back(), "--corruption all");
  EXPECT_EQ(flags_of({sotta_run("")}).back(), "--corruption none");
}

TEST(BenchFlags, AVariantCarriesItsOptions) {
  EXPECT_EQ(flags_of({with_variant(sotta_run(), "it's")}).at(2),
            "--variant 'it'\\''s: sotta learning_rate=0.001'");
}

TEST(BenchFlags, NothingOfARecordIsReadByTheShell) {
  RunRecord record = sotta_run();
  record.dataset = "a; $(rm -r x) `y`\n";
  EXPECT_EQ(flags_of({record}).at(0), "--dataset 'a; $(rm -r x) `y`\n'");
}

TEST(BenchFlags, OtherCommandsHaveNone) {
  RunRecord record = sotta_run();
  record.verb = "eval";
  EXPECT_TRUE(flags_of({record}).empty());
  EXPECT_TRUE(flags_of({}).empty());
}

TEST(SetCommands, CellsKeepWhatTheRowDoesNotSay) {
  TableRow row;
  row.cells.resize(3);
  set_commands(row, {{"--a 1", "--b 2"}, {}, {"--a 1", "--b 3"}});
  EXPECT_EQ(row.command, "sotta bench --a 1");
  EXPECT_EQ(row.cells[0].flags, "--b 2");
  EXPECT_EQ(row.cells[1].flags, "");
  EXPECT_EQ(row.cells[2].flags, "--b 3");
}

TEST(SetCommands, WithoutFlagsThereIsNoCommand) {
  TableRow row;
  row.cells.resize(1);
  set_commands(row, {{}});
  EXPECT_EQ(row.command, "");
}

}  // namespace
}  // namespace sotta
