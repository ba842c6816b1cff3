#include <algorithm>
#include <chrono>
#include <future>

#include <ATen/Parallel.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/eval/grid.h"
#include "sotta/eval/run_grid.h"
#include "sotta/record/record_folder.h"
#include "sotta/report/comparison.h"
#include "sotta/report/report.h"

#include "bindings.h"
#include "core/checks.h"
#include "eval/default_options.h"

namespace sotta::python {
namespace {

constexpr int64_t kMostLanes = 256;  // as many threads

using Changes = std::vector<std::pair<std::string, std::string>>;

struct BenchArguments {
  WorkbenchOptions workbench;
  int64_t threads = 1;
  std::string out;
  bool automatic_lanes = true;
};

// An argument as C++ has it; what it is to be is part of the message.
template <class Wanted>
Wanted take(const py::dict& values, const char* name,
            const char* expected) try {
  return values[name].cast<Wanted>();
} catch (const py::cast_error&) {
  fail(ErrorKind::kInvalid, name,
       std::string("expected ") + expected + ", got " + type_of(values[name]));
}

std::string text(const py::dict& values, const char* name) {
  return take<std::string>(values, name, "text");
}

int64_t whole(const py::dict& values, const char* name) {
  return take<int64_t>(values, name, "a whole number");
}

std::vector<std::string> texts(const py::dict& values, const char* name) {
  return take<std::vector<std::string>>(values, name, "text, or a list of it");
}

Changes to_changes(const py::dict& values, const std::string& subject) {
  Changes changes;
  for (const auto& [name, value] : to_option_map(values, subject))
    changes.emplace_back(name, to_text(value));
  return changes;
}

Grid grid_of(const py::dict& values) {
  Grid grid;
  grid.dataset = text(values, "dataset");
  grid.model = text(values, "model");
  grid.preset = text(values, "preset");
  grid.scenarios = texts(values, "scenarios");
  grid.corruptions = texts(values, "corruptions");
  grid.seeds = take<std::vector<int64_t>>(values, "seeds", "whole numbers");
  for (const auto& method : texts(values, "methods"))
    grid.rows.push_back({"", method, {}});
  for (const auto& text : texts(values, "variants"))
    grid.rows.push_back(parse_variant(text));
  for (const auto& text : texts(values, "sweeps"))
    for (const auto& row : parse_sweep(text))
      grid.rows.push_back(row);
  grid.changes =
      to_changes(take<py::dict>(values, "changes", "a dict"), "changes");
  assign_options(grid.stream,
                 to_option_map(values["stream"].cast<py::dict>(), "bench"),
                 "bench");
  return grid;
}

BenchArguments arguments_of(const py::dict& values) {
  BenchArguments arguments;
  WorkbenchOptions& options = arguments.workbench;
  options.data_root = text(values, "data");
  options.device = parse_device(text(values, "device"));
  options.engine.name = text(values, "engine");
  options.precision = parse_precision(text(values, "precision"));
  options.jobs = whole(values, "jobs");
  require_threads("jobs", options.jobs, 1);
  const auto lanes = whole(values, "lanes");
  require_within("lanes", lanes, 0, kMostLanes);
  arguments.automatic_lanes = lanes == 0;
  options.lanes = std::max<int64_t>(lanes, 1);
  arguments.threads = whole(values, "threads");
  require_threads("threads", arguments.threads, 1);
  arguments.out = text(values, "out");
  return arguments;
}

void choose_lanes(BenchArguments& arguments, const std::vector<Cell>& cells) {
  WorkbenchOptions& options = arguments.workbench;
  if (arguments.automatic_lanes && options.jobs == 1) {
    const SideBySide beside = suitable_for(
        cells, options.device, options.precision, arguments.threads);
    options.jobs = beside.jobs;
    options.lanes = beside.lanes;
  }
  options.threads_for_lanes =
      std::max<int64_t>(1, arguments.threads / options.jobs);
}

// A run's number of threads would be that of all threads that begin later, too.
struct ThreadsOfTheProcess {
  const int count = at::get_num_threads();
  ~ThreadsOfTheProcess() { at::set_num_threads(count); }
};

// In a thread of its own: LibTorch keeps its number of threads per thread, and
// the interpreter's main thread has to look for interrupts.
GridOutcome run_beside(const std::function<GridOutcome()>& work,
                       std::atomic<bool>& stop) {
  auto outcome = std::async(std::launch::async, work);
  for (;;) {
    {
      const py::gil_scoped_release released;
      if (outcome.wait_for(std::chrono::milliseconds(50)) ==
          std::future_status::ready)
        break;
    }
    if (!stop && PyErr_CheckSignals() != 0) {
      stop = true;
      const py::error_already_set interrupt;
      const py::gil_scoped_release released;
      outcome.wait();
      throw interrupt;
    }
  }
  return outcome.get();
}

GridCallback callback_of(const py::object& progress, std::atomic<bool>& stop) {
  return [&](const GridProgress& now) {
    if (stop) return false;
    if (progress.is_none()) return true;
    const py::gil_scoped_acquire acquired;
    try {
      progress(now.earlier + now.done, now.cells, now.running.share);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("progress of sotta.bench");
    }
    return true;
  };
}

py::dict outcome_of(const GridOutcome& outcome, const std::string& file) {
  py::dict averages;
  for (const auto& [name, row] : outcome.progress.rows)
    averages[py::str(name)] = row.sum / static_cast<double>(row.cells);
  py::dict result;
  result["cells"] = outcome.progress.cells;
  result["earlier"] = outcome.progress.earlier;
  result["done"] = outcome.progress.done;
  result["failures"] = outcome.failures;
  result["averages"] = averages;
  result["file"] = file;
  return result;
}

py::dict bench(const py::dict& what, const py::dict& how,
               const py::object& progress) {
  const Grid grid = grid_of(what);
  BenchArguments arguments = arguments_of(how);
  std::atomic<bool> stop{false};
  const ThreadsOfTheProcess kept;
  const GridCallback callback = callback_of(progress, stop);
  std::string file;
  const GridOutcome outcome = run_beside(
      [&] {
        const auto cells = expand(grid);
        choose_lanes(arguments, cells);
        const WorkbenchOptions& options = arguments.workbench;
        const int64_t sharers =
            options.device.is_cpu() ? options.cells_at_once() : options.jobs;
        at::set_num_threads(static_cast<int>(
            std::max<int64_t>(1, arguments.threads / sharers)));
        Workbench workbench(options);
        RecordFolder records(arguments.out, "");
        file = records.file().string();
        const auto claims = make_local_claims();
        return run_grid(cells, options.jobs, workbench, records, *claims,
                        callback);
      },
      stop);
  return outcome_of(outcome, file);
}

std::vector<std::string> read_runs(const std::string& folder) {
  const py::gil_scoped_release released;
  std::vector<std::string> lines;
  for (const RunRecord& record : read_record_folder(folder, true))
    lines.push_back(to_json(record));
  return lines;
}

std::vector<RunRecord> some_records(const std::string& folder) {
  auto records = read_record_folder(folder, /*with_subfolders=*/true);
  if (records.empty())
    fail(ErrorKind::kNotFound, folder,
         "expected records in *.jsonl or *.jsonl.gz files, found none");
  return records;
}

std::vector<std::string> report(const std::string& runs, const std::string& out,
                                const std::vector<std::string>& formats,
                                const std::string& against) {
  const py::gil_scoped_release released;
  const auto records = some_records(runs);
  Report made = make_report(records, default_options);
  if (!against.empty())
    made.sections.insert(made.sections.begin(),
                         compare_runs(records, some_records(against)).section);
  std::vector<std::string> files;
  for (const auto& file : write_report(made, out, formats))
    files.push_back(file.string());
  return files;
}

}  // namespace

void bind_bench(py::module_& core) {
  core.def("bench", &bench, py::arg("what"), py::arg("how"),
           py::arg("progress"));
  core.def("read_runs", &read_runs, py::arg("folder"),
           "Records as lines of JSON.");
  core.def("report", &report, py::arg("runs"), py::arg("out"),
           py::arg("formats"), py::arg("against"));
  core.def("report_formats", &report_formats);
}

}  // namespace sotta::python
