#include <gtest/gtest.h>

#include "sotta/eval/run_grid.h"
#include "sotta/record/record_file.h"

#include "tests/eval/run_tiny_grid.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::results_in;
using testing::run_tiny_grid;
using testing::TempDir;
using testing::TinyBench;

TEST(RunGridInLanes, RunsCellsInLanesWithTheSameResults) {
  const TinyBench tiny;
  const TempDir one, lanes, both;
  Grid grid = tiny.eight_cells();
  grid.stream.window = 4;  // few enough images to be predicted together
  const auto cells = expand(grid);
  run_tiny_grid(tiny, one.path(), cells, 1, 1);
  run_tiny_grid(tiny, lanes.path(), cells, 1, 3);
  run_tiny_grid(tiny, both.path(), cells, 2, 3);
  EXPECT_EQ(results_in(one.path()), results_in(lanes.path()));
  EXPECT_EQ(results_in(one.path()), results_in(both.path()));
}

TEST(RunGridInLanes, GoesOnInLanesWhereItWasStopped) {
  const TinyBench tiny;
  const TempDir whole, parts;
  const auto cells = expand(tiny.eight_cells());
  run_tiny_grid(tiny, whole.path(), cells, 1, 1);
  const auto stopped =
      run_tiny_grid(tiny, parts.path(), cells, 1, 4,
                    [](const GridProgress& now) { return now.done < 3; });
  EXPECT_TRUE(stopped.stopped);
  run_tiny_grid(tiny, parts.path(), cells, 1, 4);
  EXPECT_EQ(results_in(parts.path()), results_in(whole.path()));
  EXPECT_EQ(read_records(parts / "records.jsonl").size(), 8u);
}

TEST(RunGridInLanes, RefusesGraphsOfSeveralLanes) {
  WorkbenchOptions options;
  options.lanes = 2;
  options.cuda_graphs = true;
  expect_error(ErrorKind::kInvalid, "expected one lane, got 2",
               [&] { const Workbench bench(options); });
}

}  // namespace
}  // namespace sotta
