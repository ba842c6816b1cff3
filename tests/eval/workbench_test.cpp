#include "sotta/eval/workbench.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "sotta/record/run_identity.h"

#include "tests/eval/tiny_bench.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::timeless;
using testing::TinyBench;

Cell first_cell(const Grid& grid) {
  return expand(grid).front();
}

WorkbenchOptions options_of(const TinyBench& tiny) {
  WorkbenchOptions options;
  options.data_root = tiny.root();
  return options;
}

RunRecord run(const Cell& cell, const TinyBench& tiny) {
  Workbench bench(options_of(tiny));
  return run_cell(cell, bench).record;
}

TEST(Workbench, RunsACellAndSaysWhatItWas) {
  const TinyBench tiny;
  const RunRecord record = run(first_cell(tiny.grid()), tiny);
  EXPECT_EQ(record.method, "bn_stats");
  EXPECT_EQ(record.scenario, "noise");
  EXPECT_EQ(record.samples, 20);
  EXPECT_EQ(record.foreign, 20);
  EXPECT_EQ(record.device, "cpu");
  EXPECT_EQ(record.engine, "libtorch");
  EXPECT_EQ(std::get<std::string>(record.options.at("model_checksum")).size(),
            16u);
}

TEST(Workbench, ARunHasTheIdentityThatWasAnnounced) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  const Cell cell = first_cell(tiny.grid());
  EXPECT_EQ(run_identity(bench.describe(cell)),
            run_identity(run_cell(cell, bench).record));
}

TEST(Workbench, OnlyAnotherPrecisionThanFloat32IsPartOfTheIdentity) {
  const TinyBench tiny;
  const Cell cell = first_cell(tiny.grid());
  const RunRecord plain = Workbench(options_of(tiny)).describe(cell);
  EXPECT_EQ(plain.options.count("precision"), 0u);

  WorkbenchOptions options = options_of(tiny);
  options.precision = Precision::kBfloat16;
  Workbench bench(options);
  const RunRecord coarse = run_cell(cell, bench).record;
  EXPECT_EQ(std::get<std::string>(coarse.options.at("precision")), "bf16");
  EXPECT_NE(run_identity(coarse), run_identity(plain));
}

// No GPU is needed to be told.
TEST(Workbench, RefusesToReplayWhatDisturbsThreadsThatRecord) {
  const TinyBench tiny;
  WorkbenchOptions options = options_of(tiny);
  options.device = at::Device(at::kCUDA, 0);
  options.replay = true;
  options.jobs = 2;
  expect_error(ErrorKind::kInvalid, "with fp32 expected one job, got 2",
               [&] { Workbench bench(options); });
  options.precision = Precision::kTf32;
  EXPECT_NO_THROW(Workbench bench(options));
  options.jobs = 33;
  expect_error(ErrorKind::kInvalid, "expected at most 32 jobs, got 33",
               [&] { Workbench bench(options); });
}

TEST(Workbench, SharedWorkChangesNothing) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"", "source", {}}, {"", "lame", {}}, {"", "eata", {}}};
  grid.corruptions = {"gaussian_noise"};
  const auto cells = expand(grid);
  Workbench shared(options_of(tiny));
  for (const Cell& cell : cells)
    EXPECT_EQ(to_json(timeless(run_cell(cell, shared).record)),
              to_json(timeless(run(cell, tiny))))
        << cell.method;
}

TEST(Workbench, AGuardDoesNotChangeWhatTheSourceModelSees) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"", "source", {}}};
  Cell cell = first_cell(grid);
  const RunRecord free = run(cell, tiny);
  cell.guard.action = "reset";
  cell.guard.history = 1;
  cell.guard.max_class_share = 0.01;  // trips in every window
  const RunRecord guarded = run(cell, tiny);
  EXPECT_EQ(guarded.correct, free.correct);
  EXPECT_EQ(guarded.calibration_error, free.calibration_error);
}

TEST(Workbench, ScreensWithOdinIfAThresholdIsSet) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"all flagged", "tent", {{"odin_threshold", "0.999"}}}};
  const RunRecord record = run(first_cell(grid), tiny);
  EXPECT_EQ(record.admitted + record.admitted_foreign, 0);
}

TEST(Workbench, FindsForeignImagesOfAnotherSet) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.scenarios = {"far"};
  grid.stream.foreign = "mnist:test";
  const RunRecord record = run(first_cell(grid), tiny);
  EXPECT_EQ(record.foreign, 20);
  EXPECT_EQ(std::get<std::string>(record.options.at("foreign")), "mnist:test");
}

TEST(Workbench, MixesForeignImagesIntoThePapersSourceImages) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  const auto images = [&] {
    return bench.prepare(cell).context.source_images.size(0);
  };
  EXPECT_EQ(images(), 48);  // the dataset's
  cell.preset = "paper";
  EXPECT_EQ(images(), 40);  // the stream's, half of them foreign
}

TEST(Workbench, CheckFindsWhatIsMissing) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  bench.check(cell);

  cell.model = "none.safetensors";
  expect_error(ErrorKind::kNotFound, "none.safetensors",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.stream.scenario = "near";
  expect_error(ErrorKind::kNotFound, "cifar100", [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.method = "sotta";
  cell.method_changes["min_confidence"] = 2.0;
  expect_error(ErrorKind::kInvalid, "min_confidence",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.odin.threshold = -1;
  expect_error(ErrorKind::kInvalid, "odin_threshold",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.gradient_samples = -1;
  expect_error(ErrorKind::kInvalid, "gradient_samples",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.dataset = "mnist";
  expect_error(ErrorKind::kInvalid, "channels", [&] { bench.check(cell); });
}

}  // namespace
}  // namespace sotta
