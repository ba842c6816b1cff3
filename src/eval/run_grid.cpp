#include "sotta/eval/run_grid.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <ATen/Parallel.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"

#include "engine/lane_group.h"
#include "eval/run_cell.h"
#include "eval/side_by_side.h"
#include "gpu/device_queue.h"
#include "gpu/out_of_memory.h"
#include "record/run_identity.h"

namespace sotta {
namespace {

// Between two questions whether another process has ended its cell.
constexpr auto kPause = std::chrono::milliseconds(200);

struct PendingCell {
  Cell cell;
  std::string identity;
};

std::string row_name(const RunRecord& record) {
  return record.variant.empty() ? record.method
                                : record.method + " (" + record.variant + ")";
}

std::string cell_name(const Cell& cell) {
  const StreamOptions& stream = cell.stream;
  return cell.method + (cell.variant.empty() ? "" : " (" + cell.variant + ")") +
         ", " + stream.scenario + ", " +
         (stream.corruptions.empty() ? "clean" : corruption_name(cell)) +
         ", seed " + std::to_string(stream.seed);
}

// A grid while it runs. What threads share is behind one lock.
class GridRun {
 public:
  GridRun(Workbench& bench, RecordFolder& records, CellClaims& claims,
          const GridCallback& callback)
      : bench_(bench), records_(records), claims_(claims), tell_(callback) {}

  // Opens everything, and sorts out what is recorded already.
  void prepare(const std::vector<Cell>& cells) {
    std::set<std::string> rows;
    for (const Cell& cell : gather_alike(cells, bench_.options().lanes)) {
      const RunRecord record = bench_.describe(cell);
      if (rows.insert(row_name(record)).second) bench_.check(cell);
      const std::string identity = run_identity(record);
      if (!identities_.insert(identity).second) continue;
      ++outcome_.progress.cells;
      if (records_.has(identity))
        ++outcome_.progress.earlier;
      else
        pending_.push_back({cell, identity});
    }
    count_those_of_grid(records_.earlier());
    say_what_is_recorded();
  }

  GridOutcome run(int64_t jobs) {
    const SharedDevice shared(jobs > 1);
    if (bench_.options().lanes == 1)
      run_in_threads(jobs, jobs, [this](int64_t) { work(nullptr); });
    else
      run_in_threads(jobs, jobs, [this](int64_t) { work_in_lanes(); });
    if (fatal_) std::rethrow_exception(fatal_);
    // Other processes have recorded some of the cells.
    outcome_.progress.rows.clear();
    count_those_of_grid(read_record_folder(records_.file().parent_path()));
    return outcome_;
  }

 private:
  // Other processes may not see this folder.
  void say_what_is_recorded() {
    for (const auto& identity : identities_)
      if (records_.has(identity)) claims_.finish(identity);
  }

  void work_in_lanes() {
    const WorkbenchOptions& options = bench_.options();
    LaneGroup group(options.device, options.threads_for_lanes);
    std::vector<std::future<void>> lanes;
    for (int64_t i = 0; i < options.lanes; ++i)
      lanes.push_back(std::async(std::launch::async, [&] {
        // Else the number that another job's group has just set may count.
        at::set_num_threads(threads_of_cell_);
        work(&group);
      }));
    for (auto& lane : lanes)
      lane.get();
  }

  void work(LaneGroup* lanes) {
    const OwnQueue queue(bench_.options().device);
    while (auto next = next_cell())
      run_one(*next, lanes);
  }

  // The next cell that is ours; waits while others may yet leave us theirs.
  std::optional<PendingCell> next_cell() {
    std::unique_lock lock(mutex_);
    size_t taken = 0;  // in a row
    while (!ended_ && !pending_.empty()) {
      if (taken == pending_.size()) {
        wake_.wait_for(lock, kPause);
        taken = 0;
        if (!go_on()) return std::nullopt;
        continue;
      }
      PendingCell next = std::move(pending_.front());
      pending_.pop_front();
      switch (ask(next.identity)) {
        case CellClaims::Answer::kMine:
          return next;
        case CellClaims::Answer::kDone:
          ++outcome_.progress.done;
          break;
        case CellClaims::Answer::kFailed:
          note_failure(next.cell, "failed in another process");
          break;
        case CellClaims::Answer::kTaken:
          pending_.push_back(std::move(next));
          ++taken;
      }
    }
    return std::nullopt;
  }

  // Without the others the running cells are finished, and that is all.
  CellClaims::Answer ask(const std::string& identity) {
    try {
      return claims_.claim(identity);
    } catch (const Error& error) {
      outcome_.lost = error.what();
      end();
      return CellClaims::Answer::kTaken;
    }
  }

  void run_one(const PendingCell& next, LaneGroup* lanes) {
    try {
      RunResult result;
      explain_out_of_memory(
          "fewer cells side by side or a smaller window need less", [&] {
            const auto tell = [&](const Progress& now) {
              const std::lock_guard lock(mutex_);
              running_[next.identity] = now;
              return go_on();
            };
            result = lanes == nullptr
                         ? run_cell(next.cell, bench_, tell)
                         : run_cell(next.cell, bench_, tell, *lanes);
          });
      if (result.stopped)
        give_back(next.identity);
      else
        keep(next.identity, result.record);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      running_.erase(next.identity);
      note_failure(next.cell, first_line(error));
      tell_others([&] { claims_.mark_failed(next.identity); });
    }
  }

  RunningCells running() const {
    RunningCells all;
    for (const auto& [identity, cell] : running_) {
      ++all.cells;
      all.windows_done += cell.done;
      all.windows += cell.total;
      all.share +=
          static_cast<double>(cell.done) / static_cast<double>(cell.total);
    }
    return all;
  }

  void note_failure(const Cell& cell, const std::string& reason) {
    outcome_.failures.push_back(cell_name(cell) + ": " + reason);
  }

  void keep(const std::string& identity, const RunRecord& record) {
    const std::lock_guard lock(mutex_);
    running_.erase(identity);
    try {
      records_.append(record);
    } catch (...) {
      // Nothing that follows could be written either.
      fatal_ = std::current_exception();
      end();
      return;
    }
    ++outcome_.progress.done;
    count(record);
    tell_others([&] { claims_.finish(identity); });
    go_on();
  }

  void give_back(const std::string& identity) {
    const std::lock_guard lock(mutex_);
    running_.erase(identity);
    tell_others([&] { claims_.release(identity); });
  }

  template <class Message>
  void tell_others(const Message& message) {
    try {
      message();
    } catch (const Error& error) {
      outcome_.lost = error.what();
      end();
    }
  }

  void count_those_of_grid(const std::vector<RunRecord>& records) {
    for (const auto& record : records)
      if (identities_.count(run_identity(record)) > 0) count(record);
  }

  void count(const RunRecord& record) {
    RowAverage& row = outcome_.progress.rows[row_name(record)];
    row.sum += record.accuracy;
    ++row.cells;
  }

  // Shows where we are. False if running cells are to be dropped.
  bool go_on() {
    if (outcome_.stopped || fatal_) return false;
    outcome_.progress.running = running();
    if (tell_ && !tell_(outcome_.progress)) {
      outcome_.stopped = true;
      end();
    }
    return !outcome_.stopped;
  }

  void end() {
    ended_ = true;
    wake_.notify_all();
  }

  Workbench& bench_;
  RecordFolder& records_;
  CellClaims& claims_;
  const GridCallback& tell_;

  const int threads_of_cell_ = at::get_num_threads();
  std::set<std::string> identities_;  // of the grid

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<PendingCell> pending_;
  std::map<std::string, Progress> running_;  // by identity
  bool ended_ = false;                       // begin no further cell
  std::exception_ptr fatal_;
  GridOutcome outcome_;
};

}  // namespace

std::vector<Cell> shard(const std::vector<Cell>& cells, int64_t i, int64_t n) {
  require(n >= 1 && i >= 0 && i < n, "shard",
          "expected i/n with i from 0 to n-1, got " + std::to_string(i) + "/" +
              std::to_string(n));
  // Cells of one stream share work and follow one another.
  std::vector<size_t> stream_of(cells.size());
  size_t streams = 0;
  for (size_t k = 0; k < cells.size(); ++k) {
    if (k > 0 && !same_stream(cells[k - 1], cells[k])) ++streams;
    stream_of[k] = streams;
  }
  const bool enough = streams + 1 >= static_cast<size_t>(n);
  std::vector<Cell> share;
  for (size_t k = 0; k < cells.size(); ++k)
    if ((enough ? stream_of[k] : k) % static_cast<size_t>(n) ==
        static_cast<size_t>(i))
      share.push_back(cells[k]);
  return share;
}

GridOutcome run_grid(const std::vector<Cell>& cells, int64_t jobs,
                     Workbench& bench, RecordFolder& records,
                     CellClaims& claims, const GridCallback& progress) {
  require_threads("jobs", jobs, 1);
  GridRun run(bench, records, claims, progress);
  run.prepare(cells);
  return run.run(jobs);
}

}  // namespace sotta
