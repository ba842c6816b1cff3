#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sotta/eval/cell.h"
#include "sotta/eval/cell_claims.h"
#include "sotta/eval/workbench.h"
#include "sotta/record/record_folder.h"

namespace sotta {

// The accuracy of a row so far, earlier records included.
struct RowAverage {
  double sum = 0;
  int64_t cells = 0;
};

// How far the cells are that this process runs now.
struct RunningCells {
  int64_t cells = 0;
  int64_t windows_done = 0;
  int64_t windows = 0;  // of all of them
  double share = 0;     // the sum of each one's share that is done
};

// How far a grid is.
struct GridProgress {
  int64_t cells = 0;    // in all
  int64_t earlier = 0;  // of these, recorded before
  int64_t done = 0;     // of these, since then, here or by other processes
  RunningCells running;

  // By method and variant. While the grid runs, of the records that this
  // process knows; in the outcome, of all that lie in the folder.
  std::map<std::string, RowAverage> rows;
};

// Called between windows, never from two threads at once. Returning false asks
// for a clean stop: running cells are dropped.
using GridCallback = std::function<bool(const GridProgress&)>;

struct GridOutcome {
  GridProgress progress;
  bool stopped = false;               // the callback asked for it
  std::vector<std::string> failures;  // "cell: what went wrong", anywhere
  std::string lost;                   // why other processes were lost
};

// The i-th of n shares of the cells, for processes that do not talk to each
// other: every n-th stream with all its cells; every n-th cell if there are
// fewer streams than shares. Throws Error(kInvalid) unless 0 <= i < n.
std::vector<Cell> shard(const std::vector<Cell>& cells, int64_t i, int64_t n);

// Cells that run side by side: jobs, and lanes of each (WorkbenchOptions).
struct SideBySide {
  int64_t jobs = 1;
  int64_t lanes = 1;
};

// What suits the cells, on a CPU with so many threads. On a GPU as many windows
// as use it well together, in two jobs if each gets enough of them: one has the
// GPU work while the other's lanes are on the host. One in fp32, where lanes
// share nothing. On a CPU one for each thread, and more of small windows; one
// of windows so large that several would take too much memory.
SideBySide suitable_for(const std::vector<Cell>& cells, at::Device device,
                        Precision precision, int64_t threads);

// Runs the cells that have no record yet, `jobs` times WorkbenchOptions::lanes
// at a time in threads of this process (at most most_threads() jobs), and
// appends each record as its cell ends. Everything that cells need is opened,
// and every row's method is made, before the first cell runs.
//
// A cell that fails is reported and does not stop the others. Throws what the
// workbench throws before the start, and Error(kIo) when a record cannot be
// written.
GridOutcome run_grid(const std::vector<Cell>& cells, int64_t jobs,
                     Workbench& bench, RecordFolder& records,
                     CellClaims& claims, const GridCallback& progress = {});

}  // namespace sotta
