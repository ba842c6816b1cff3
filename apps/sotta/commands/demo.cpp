#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/eval/workbench.h"
#include "sotta/gpu/device.h"
#include "sotta/record/record_file.h"
#include "sotta/report/report.h"

#include "commands.h"
#include "core/output_place.h"
#include "eval/default_options.h"
#include "flags.h"
#include "live_board.h"
#include "process.h"
#include "progress_bar.h"

namespace sotta::cli {
namespace {

struct DemoFlags {
  std::string model = "models/fashion_resnet8.safetensors";
  std::string dataset = "fashion-mnist";
  std::string scenario = "noise";
  std::string corruption = "contrast";
  int64_t severity = 5;
  int64_t limit = 2000;
  int64_t seed = 0;
  std::vector<std::string> methods = {"source", "bn_stats", "tent", "sotta",
                                      "screened_sotta"};
  std::string guard = "rollback";
  std::string data;
  std::string out = "demo";
  std::string device = "cpu";
  std::string precision = to_text(Precision::kFloat32);
  int64_t threads = 0;
};

Cell make_cell(const DemoFlags& flags, const std::string& method) {
  Cell cell;
  cell.dataset = flags.dataset;
  cell.model = flags.model;
  cell.method = method;
  cell.stream.scenario = flags.scenario;
  cell.stream.corruptions = flags.corruption;
  cell.stream.severity = flags.severity;
  cell.stream.limit = flags.limit;
  cell.stream.seed = flags.seed;
  cell.guard.action = flags.guard;
  return cell;
}

// All methods side by side, so that their bars move together.
std::vector<RunRecord> run_side_by_side(const DemoFlags& flags,
                                        int64_t threads) {
  const auto count = static_cast<int64_t>(flags.methods.size());
  WorkbenchOptions options;
  options.data_root = data_root(flags.data);
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  options.jobs = count;
  Workbench bench(options);
  std::vector<Cell> cells;
  for (const auto& method : flags.methods) {
    cells.push_back(make_cell(flags, method));
    bench.check(cells.back());
  }

  LiveBoard board(flags.methods);
  std::vector<RunResult> results(cells.size());
  use_threads(std::max<int64_t>(1, threads / count));
  run_in_threads(count, count, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    results[at] = run_cell(cells[at], bench, [&](const Progress& progress) {
      board.update(at,
                   static_cast<double>(progress.done) /
                       static_cast<double>(progress.total),
                   progress.note);
      return !interrupted();
    });
  });
  std::vector<RunRecord> records;
  for (const RunResult& result : results) {
    if (result.stopped)
      throw CLI::RuntimeError("interrupted, nothing recorded", 1);
    records.push_back(result.record);
  }
  return records;
}

void print_table(const std::vector<RunRecord>& records) {
  std::printf("\n%-14s %9s %18s %19s %10s\n", "method", "accuracy",
              "admitted (target)", "admitted (foreign)", "images/s");
  for (const RunRecord& record : records)
    std::printf("%-14s %8.1f%% %11lld / %4lld %12lld / %4lld %10.0f\n",
                record.method.c_str(), record.accuracy,
                static_cast<long long>(record.admitted),
                static_cast<long long>(record.samples),
                static_cast<long long>(record.admitted_foreign),
                static_cast<long long>(record.foreign),
                record.images_per_second);
}

void run(const DemoFlags& flags) {
  require(!flags.methods.empty(), "--method", "expected at least one");
  const std::filesystem::path folder = flags.out;
  const auto file = folder / "records.jsonl";
  make_folder(folder);
  check_appendable(file);
  const int64_t threads = use_threads(flags.threads);
  std::printf(
      "%lld images of %s under %s (severity %lld), in a stream where the rest "
      "does\nnot belong (%s). The model has never seen either. Accuracy on "
      "the images that\nbelong, as the stream goes by:\n\n",
      static_cast<long long>(flags.limit), flags.dataset.c_str(),
      flags.corruption.c_str(), static_cast<long long>(flags.severity),
      flags.scenario.c_str());
  std::fflush(stdout);

  catch_interrupts();
  const auto records = run_side_by_side(flags, threads);
  print_table(records);

  // Behind what is there: of a run that is there twice the later one counts.
  for (const RunRecord& record : records)
    append_record(file, record);
  const auto written = write_report(make_report(records, default_options),
                                    folder / "report", {"html"});
  std::printf("\nrecords: %s\nreport:  %s\n", file.c_str(),
              written.front().c_str());
}

}  // namespace

void add_demo(CLI::App& program) {
  auto* command = program.add_subcommand(
      "demo", "methods side by side on a stream that holds foreign images");
  auto flags = std::make_shared<DemoFlags>();
  const auto option = [&](const char* name, auto& value, const char* help) {
    command->add_option(name, value, help)->capture_default_str();
  };
  option("--model", flags->model, "weights");
  option("--dataset", flags->dataset, "see `sotta data`");
  option("--scenario", flags->scenario,
         "what else the stream holds, see `sotta info`");
  option("--corruption", flags->corruption, "of the images that belong");
  option("--severity", flags->severity, "1 to 5");
  option("--limit", flags->limit, "images that belong; as many do not");
  option("--seed", flags->seed, "of every random choice");
  option("--guard", flags->guard, "off, skip, rollback, reset or floor");
  option("--out", flags->out, "folder for records and report");
  command->add_option("--method", flags->methods, "methods to compare")
      ->delimiter(',')
      ->capture_default_str();
  add_data_flag(*command, flags->data);
  add_device_flags(*command, flags->device, flags->threads);
  add_precision_flag(*command, flags->precision);
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
