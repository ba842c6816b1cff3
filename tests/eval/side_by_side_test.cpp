#include "eval/side_by_side.h"

#include <gtest/gtest.h>

#include "sotta/eval/grid.h"
#include "sotta/eval/run_grid.h"

#include "tests/eval/tiny_bench.h"

namespace sotta {
namespace {

using testing::TinyBench;

Cell cell_of(const std::string& method, const std::string& scenario,
             const std::string& corruption) {
  Cell cell;
  cell.method = method;
  cell.stream.scenario = scenario;
  cell.stream.corruptions = corruption;
  return cell;
}

// "method scenario corruption" of each.
std::vector<std::string> names_of(const std::vector<Cell>& cells) {
  std::vector<std::string> names;
  for (const Cell& cell : cells)
    names.push_back(cell.method + " " + cell.stream.scenario + " " +
                    cell.stream.corruptions);
  return names;
}

std::vector<Cell> three_corruptions() {
  std::vector<Cell> cells;
  for (const char* corruption : {"fog", "frost", "snow"})
    for (const char* scenario : {"noise", "attack"})
      for (const char* method : {"tent", "sotta"})
        cells.push_back(cell_of(method, scenario, corruption));
  return cells;
}

TEST(GatherAlike, PutsCellsOfOneScenarioAndMethodSideBySide) {
  const std::vector<std::string> wanted = {
      "tent noise fog",     "tent noise frost",  "sotta noise fog",
      "sotta noise frost",  "tent noise snow",   "sotta noise snow",
      "tent attack fog",    "tent attack frost", "sotta attack fog",
      "sotta attack frost", "tent attack snow",  "sotta attack snow"};
  EXPECT_EQ(names_of(gather_alike(three_corruptions(), 2)), wanted);
}

TEST(GatherAlike, LeavesCellsAsTheyAreForOneLane) {
  const auto cells = three_corruptions();
  EXPECT_EQ(names_of(gather_alike(cells, 1)), names_of(cells));
}

TEST(SuitableFor, ACpuIsALaneForEachThread) {
  const TinyBench tiny;
  Grid grid = tiny.eight_cells();
  const auto lanes = [&](int64_t threads) {
    const SideBySide found =
        suitable_for(expand(grid), at::kCPU, Precision::kFloat32, threads);
    EXPECT_EQ(found.jobs, 1);
    return found.lanes;
  };
  EXPECT_EQ(lanes(1), 1);
  EXPECT_EQ(lanes(6), 6);
  EXPECT_EQ(lanes(64), 8);  // no more than cells
  grid.seeds = {0, 1, 2, 3, 4, 5, 6, 7};
  grid.stream.window = 1;
  EXPECT_EQ(lanes(2), 16);
  EXPECT_EQ(lanes(20), 20);
  grid.stream.window = 1024;
  EXPECT_EQ(lanes(16), 2);
}

TEST(SuitableFor, AGpuIsTwoJobsIfEachHasEnoughLanes) {
  const TinyBench tiny;
  Grid grid = tiny.eight_cells();
  grid.seeds = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto expect = [&](int64_t window, Precision precision, int64_t jobs,
                          int64_t lanes) {
    grid.stream.window = window;
    const SideBySide found = suitable_for(
        expand(grid), at::Device(at::kCUDA, 0), precision, /*threads=*/2);
    EXPECT_EQ(found.jobs, jobs);
    EXPECT_EQ(found.lanes, lanes);
  };
  expect(64, Precision::kTf32, 2, 16);
  expect(64, Precision::kFloat32, 1, 1);
  expect(1024, Precision::kBfloat16, 1, 2);
}

}  // namespace
}  // namespace sotta
