#include "sotta/eval/run_grid.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "sotta/record/record_file.h"

#include "record/run_identity.h"
#include "tests/eval/run_tiny_grid.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::results_in;
using testing::run_tiny_grid;
using testing::TempDir;
using testing::TinyBench;

GridOutcome run(const TinyBench& tiny, const std::filesystem::path& folder,
                const std::vector<Cell>& cells, int64_t jobs = 1,
                const GridCallback& progress = {}) {
  return run_tiny_grid(tiny, folder, cells, jobs, /*lanes=*/1, progress);
}

TEST(RunGrid, RecordsEveryCellOnce) {
  const TinyBench tiny;
  const TempDir dir;
  const auto outcome = run(tiny, dir.path(), expand(tiny.eight_cells()));
  EXPECT_EQ(outcome.progress.cells, 8);
  EXPECT_EQ(outcome.progress.done, 8);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(read_records(dir / "records.jsonl").size(), 8u);
  EXPECT_EQ(outcome.progress.rows.at("sotta").cells, 4);
}

TEST(RunGrid, RunsCellsSideBySideWithTheSameResults) {
  const TinyBench tiny;
  const TempDir one, three;
  const auto cells = expand(tiny.eight_cells());
  run(tiny, one.path(), cells, 1);
  run(tiny, three.path(), cells, 3);
  EXPECT_EQ(results_in(one.path()), results_in(three.path()));
}

TEST(RunGrid, ContinuesWhereItWasStopped) {
  const TinyBench tiny;
  const TempDir whole, parts;
  const auto cells = expand(tiny.eight_cells());
  run(tiny, whole.path(), cells);

  const auto stopped =
      run(tiny, parts.path(), cells, 1,
          [](const GridProgress& now) { return now.done < 3; });
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.progress.done, 3);
  // A crash may leave a line half-written.
  std::ofstream(parts / "records.jsonl", std::ios::app) << "{\"format\":2,";

  const auto rest = run(tiny, parts.path(), cells);
  EXPECT_EQ(rest.progress.earlier, 3);
  EXPECT_EQ(rest.progress.done, 5);
  EXPECT_EQ(results_in(parts.path()), results_in(whole.path()));
  EXPECT_EQ(read_records(parts / "records.jsonl").size(), 8u);
}

TEST(RunGrid, RunsNothingTwice) {
  const TinyBench tiny;
  const TempDir dir;
  const auto cells = expand(tiny.eight_cells());
  run(tiny, dir.path(), cells);
  const auto again = run(tiny, dir.path(), cells);
  EXPECT_EQ(again.progress.earlier, 8);
  EXPECT_EQ(again.progress.done, 0);
  EXPECT_EQ(again.progress.rows.at("sotta").cells, 4);
}

TEST(RunGrid, RunsTwinsOnce) {
  const TinyBench tiny;
  const TempDir dir;
  auto cells = expand(tiny.grid());
  cells.push_back(cells.front());
  const auto outcome = run(tiny, dir.path(), cells);
  EXPECT_EQ(outcome.progress.cells, 2);
  EXPECT_EQ(outcome.progress.done, 2);
  EXPECT_EQ(outcome.progress.rows.at("bn_stats").cells, 1);
}

TEST(RunGrid, AveragesAreThoseOfTheRecords) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.eight_cells();
  const auto first = expand(grid);
  run(tiny, dir.path(), {first.begin(), first.begin() + 3});
  grid.rows[1].variant = "named";  // records of another grid do not count
  run(tiny, dir.path(), {expand(grid)[1]});

  const auto outcome = run(tiny, dir.path(), first);
  std::map<std::string, std::vector<double>> expected;
  for (const auto& record : read_record_folder(dir.path()))
    if (record.variant.empty())
      expected[record.method].push_back(100.0 *
                                        static_cast<double>(record.correct) /
                                        static_cast<double>(record.samples));
  ASSERT_EQ(outcome.progress.rows.size(), 2u);
  for (const auto& [name, accuracies] : expected) {
    double sum = 0;
    for (const double accuracy : accuracies)
      sum += accuracy;
    EXPECT_EQ(outcome.progress.rows.at(name).cells, 4);
    EXPECT_NEAR(outcome.progress.rows.at(name).sum, sum, 1e-9);
  }
}

// Two windows and a half of 16 samples.
TEST(RunGrid, TellsHowFarTheRunningCellsAre) {
  const TinyBench tiny;
  const TempDir dir;
  std::vector<std::string> seen;
  const auto outcome = run(
      tiny, dir.path(), {expand(tiny.grid()).front()}, 1,
      [&](const GridProgress& now) {
        seen.push_back(std::to_string(now.done) + " done, " +
                       std::to_string(now.running.cells) + " at " +
                       std::to_string(now.running.windows_done) + "/" +
                       std::to_string(now.running.windows));
        EXPECT_NEAR(now.running.share,
                    static_cast<double>(now.running.windows_done) / 3, 1e-9);
        return true;
      });
  EXPECT_EQ(seen,
            (std::vector<std::string>{"0 done, 1 at 1/3", "0 done, 1 at 2/3",
                                      "0 done, 1 at 3/3", "1 done, 0 at 0/0"}));
}

// What source and LAME share is most of their work.
TEST(RunGrid, TellsHowFarASharedPassIsAndCanStopThere) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.grid();
  grid.rows = {{"", "source", {}}};
  int64_t calls = 0;
  const auto outcome =
      run(tiny, dir.path(), expand(grid), 1, [&](const GridProgress& now) {
        EXPECT_EQ(now.running.windows, 3);
        return ++calls < 2;
      });
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(read_record_folder(dir.path()).empty());
  EXPECT_EQ(run(tiny, dir.path(), expand(grid)).progress.done, 1);
}

TEST(RunGrid, AveragesBeginWithWhatIsRecorded) {
  const TinyBench tiny;
  const TempDir dir;
  const auto cells = expand(tiny.eight_cells());
  run(tiny, dir.path(), {cells.begin(), cells.begin() + 3});
  std::map<std::string, RowAverage> rows;
  run(tiny, dir.path(), cells, 1, [&](const GridProgress& now) {
    rows = now.rows;
    return false;
  });
  EXPECT_EQ(rows["bn_stats"].cells, 2);
  EXPECT_EQ(rows["sotta"].cells, 1);
}

TEST(RunGrid, StopsBeforeTheFirstCellIfARowIsWrong) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.grid();
  grid.rows.push_back({"bad", "sotta", {{"stats_momentum", "7"}}});
  expect_error(ErrorKind::kInvalid, "stats_momentum",
               [&] { run(tiny, dir.path(), expand(grid)); });
  EXPECT_TRUE(read_record_folder(dir.path()).empty());
}

TEST(RunGrid, AFailedCellDoesNotStopTheOthers) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.grid();
  // Found only when the cell runs: there are no whole windows to plan.
  grid.scenarios = {"benign", "noise"};
  grid.stream.whole_windows = true;
  grid.stream.limit = 10;
  const auto outcome = run(tiny, dir.path(), expand(grid));
  EXPECT_EQ(outcome.failures.size(), 2u);
  EXPECT_EQ(outcome.progress.done, 2);
  EXPECT_NE(outcome.failures[0].find("bn_stats, benign, clean, seed 0"),
            std::string::npos);
}

// Another process that is at one cell, has finished a second and could not run
// a third.
class OtherProcess : public CellClaims {
 public:
  Answer claim(const std::string& identity) override {
    if (identity == finished) return Answer::kDone;
    if (identity == broken) return Answer::kFailed;
    if (identity == running && asked++ < 2) return Answer::kTaken;
    if (identity == unreachable)
      fail(ErrorKind::kIo, "rank 0", "cannot be reached");
    return Answer::kMine;
  }
  void finish(const std::string& identity) override {
    told_finished.insert(identity);
  }
  void mark_failed(const std::string& identity) override {
    told_failed.insert(identity);
  }
  void release(const std::string& identity) override {
    given_back.insert(identity);
  }

  std::string finished, broken, running, unreachable;
  std::set<std::string> told_finished, told_failed, given_back;
  int asked = 0;
};

class WithOthers : public ::testing::Test {
 protected:
  WithOthers() : bench_(options()), records_(dir_.path(), "rank1") {
    cells_ = expand(tiny_.eight_cells());
  }

  WorkbenchOptions options() const {
    WorkbenchOptions options;
    options.data_root = tiny_.root();
    return options;
  }
  std::string identity(size_t cell) {
    return run_identity(bench_.describe(cells_[cell]));
  }

  TinyBench tiny_;
  TempDir dir_;
  Workbench bench_;
  RecordFolder records_;
  std::vector<Cell> cells_;
};

TEST_F(WithOthers, LeavesTheirCellsAndTakesOverWhatTheyLose) {
  OtherProcess other;
  other.finished = identity(2);
  other.running = identity(0);
  const auto outcome = run_grid(cells_, 1, bench_, records_, other);
  EXPECT_EQ(outcome.progress.done, 8);
  EXPECT_FALSE(records_.has(identity(2)));
  EXPECT_TRUE(records_.has(identity(0)));
}

TEST_F(WithOthers, AveragesAreThoseOfAllRecordsInTheFolder) {
  OtherProcess other;
  other.finished = identity(2);  // bn_stats
  RecordFolder theirs(dir_.path(), "rank0");
  theirs.append(run_cell(cells_[2], bench_).record);
  const auto outcome = run_grid(cells_, 1, bench_, records_, other);
  EXPECT_EQ(outcome.progress.rows.at("bn_stats").cells, 4);
  EXPECT_EQ(outcome.progress.rows.at("sotta").cells, 4);
}

TEST_F(WithOthers, GivesBackWhatItStopsIn) {
  OtherProcess other;
  run_grid(cells_, 1, bench_, records_, other,
           [](const GridProgress& now) { return now.done < 1; });
  EXPECT_EQ(other.told_finished, (std::set<std::string>{identity(0)}));
  EXPECT_TRUE(other.given_back.empty());  // stopped between two cells

  int64_t calls = 0;
  run_grid(cells_, 1, bench_, records_, other,
           [&](const GridProgress&) { return ++calls < 2; });
  EXPECT_EQ(other.given_back, (std::set<std::string>{identity(1)}));
}

TEST_F(WithOthers, TellsThemWhatIsRecordedHere) {
  records_.append(run_cell(cells_[5], bench_).record);
  OtherProcess other;
  run_grid(cells_, 1, bench_, records_, other,
           [](const GridProgress&) { return false; });
  EXPECT_EQ(other.told_finished, (std::set<std::string>{identity(5)}));
}

TEST_F(WithOthers, CountsTheirFailuresAsFailures) {
  OtherProcess other;
  other.broken = identity(2);
  const auto outcome = run_grid(cells_, 1, bench_, records_, other);
  EXPECT_EQ(outcome.progress.done, 7);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_NE(outcome.failures[0].find("failed in another process"),
            std::string::npos);
}

TEST_F(WithOthers, TellsThemWhatFailedHere) {
  for (Cell& cell : cells_) {
    cell.stream.whole_windows = true;
    cell.stream.limit = 10;  // none in the benign streams
  }
  OtherProcess other;
  const auto outcome = run_grid(cells_, 1, bench_, records_, other);
  EXPECT_EQ(outcome.failures.size(), 4u);
  EXPECT_EQ(other.told_failed.size(), 4u);
  EXPECT_EQ(other.told_failed.count(identity(0)), 1u);
  EXPECT_EQ(other.told_finished.size(), 4u);
}

TEST_F(WithOthers, EndsCleanlyWhenTheyCannotBeReached) {
  OtherProcess other;
  other.unreachable = identity(3);
  const auto outcome = run_grid(cells_, 1, bench_, records_, other);
  EXPECT_NE(outcome.lost.find("rank 0"), std::string::npos);
  EXPECT_EQ(read_records(records_.file()).size(), 3u);
}

TEST(RunGrid, NamesTheCellThatFailed) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.grid();
  grid.rows = {{"", "bn_stats", {}}, {"mine", "bn_stats", {}}};
  grid.scenarios = {"benign"};
  grid.corruptions = {"none", "fog"};
  grid.seeds = {7};
  grid.stream.whole_windows = true;
  grid.stream.limit = 10;  // of a window of 16
  const auto outcome = run(tiny, dir.path(), expand(grid));
  const std::string why =
      ", seed 7: StreamPlan: expected at least one whole window of 16 samples, "
      "got 10";
  EXPECT_EQ(outcome.failures,
            (std::vector<std::string>{"bn_stats, benign, clean" + why,
                                      "bn_stats (mine), benign, clean" + why,
                                      "bn_stats, benign, fog" + why,
                                      "bn_stats (mine), benign, fog" + why}));
}

TEST(RunGrid, ARowIsNamedByMethodAndVariant) {
  const TinyBench tiny;
  const TempDir dir;
  Grid grid = tiny.grid();
  grid.rows = {{"", "bn_stats", {}}, {"mine", "bn_stats", {}}};
  const auto outcome = run(tiny, dir.path(), expand(grid));
  ASSERT_EQ(outcome.progress.rows.size(), 2u);
  EXPECT_EQ(outcome.progress.rows.at("bn_stats").cells, 1);
  EXPECT_EQ(outcome.progress.rows.at("bn_stats (mine)").cells, 1);
}

TEST(RunGrid, TellsOfAllRunningCells) {
  const TinyBench tiny;
  const TempDir dir;
  int64_t most = 0;
  run(tiny, dir.path(), expand(tiny.eight_cells()), 3,
      [&](const GridProgress& now) {
        const RunningCells& running = now.running;
        most = std::max(most, running.cells);
        // Benign streams have two windows, the others three.
        EXPECT_GE(running.windows, 2 * running.cells);
        EXPECT_LE(running.windows, 3 * running.cells);
        EXPECT_GE(running.windows_done, running.cells);
        EXPECT_LE(running.windows_done, running.windows);
        EXPECT_GE(running.share, static_cast<double>(running.cells) / 3 - 1e-9);
        EXPECT_LE(running.share, static_cast<double>(running.cells) + 1e-9);
        return true;
      });
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
}

TEST(RunGrid, RefusesToRunNoneAtATime) {
  const TinyBench tiny;
  const TempDir dir;
  expect_error(ErrorKind::kInvalid, "jobs",
               [&] { run(tiny, dir.path(), expand(tiny.grid()), 0); });
}

TEST_F(WithOthers, StopsWhileItWaitsForThem) {
  class Busy : public OtherProcess {
    Answer claim(const std::string&) override { return Answer::kTaken; }
  } others;
  int64_t calls = 0;
  const auto outcome =
      run_grid(cells_, 1, bench_, records_, others,
               [&](const GridProgress&) { return ++calls < 2; });
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(outcome.progress.done, 0);
  EXPECT_TRUE(read_records(records_.file()).empty());
}

// Cannot be reached with what is to be said to them.
class Unreachable : public OtherProcess {
 public:
  void finish(const std::string&) override { lose("finish"); }
  void mark_failed(const std::string&) override { lose("mark_failed"); }
  void release(const std::string&) override { lose("release"); }

 private:
  static void lose(const char* what) {
    fail(ErrorKind::kIo, "rank 0", std::string("lost at ") + what);
  }
};

TEST_F(WithOthers, EndsWhenTheyCannotBeToldWhatIsDone) {
  Unreachable others;
  const auto outcome = run_grid(cells_, 1, bench_, records_, others);
  EXPECT_EQ(outcome.lost, "rank 0: lost at finish");
  EXPECT_EQ(outcome.progress.done, 1);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(read_records(records_.file()).size(), 1u);
}

TEST_F(WithOthers, EndsWhenTheyCannotBeToldWhatFailed) {
  for (Cell& cell : cells_) {
    cell.stream.whole_windows = true;
    cell.stream.limit = 10;  // none in the benign streams
  }
  Unreachable others;
  const auto outcome = run_grid(cells_, 1, bench_, records_, others);
  EXPECT_EQ(outcome.lost, "rank 0: lost at mark_failed");
  EXPECT_EQ(outcome.failures.size(), 1u);
  EXPECT_TRUE(read_records(records_.file()).empty());
}

TEST_F(WithOthers, EndsWhenACellCannotBeGivenBack) {
  Unreachable others;
  const auto outcome = run_grid(cells_, 1, bench_, records_, others,
                                [](const GridProgress&) { return false; });
  EXPECT_EQ(outcome.lost, "rank 0: lost at release");
  EXPECT_TRUE(outcome.stopped);
}

TEST_F(WithOthers, ARecordThatCannotBeWrittenEndsTheGrid) {
  std::filesystem::remove(records_.file());
  std::filesystem::create_directory(records_.file());
  OtherProcess others;
  std::set<int64_t> done;
  expect_error(ErrorKind::kIo, records_.file().filename().string(), [&] {
    run_grid(cells_, 1, bench_, records_, others, [&](const GridProgress& now) {
      done.insert(now.done);
      return true;
    });
  });
  EXPECT_EQ(done, std::set<int64_t>{0});
  EXPECT_TRUE(others.told_finished.empty());
  EXPECT_TRUE(others.told_failed.empty());
}

}  // namespace
}  // namespace sotta
