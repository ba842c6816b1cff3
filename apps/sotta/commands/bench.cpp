#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/engine/engine.h"
#include "sotta/eval/grid.h"
#include "sotta/eval/run_grid.h"
#include "sotta/gpu/device.h"
#include "sotta/stream/scenario.h"
#include "sotta/stream/stream_sources.h"

#include "commands.h"
#include "config_file.h"
#include "core/checks.h"
#include "data/sets/catalog.h"
#include "flags.h"
#include "json_text.h"
#include "network_probe.h"
#include "process.h"
#include "progress_bar.h"
#include "ranks.h"

namespace sotta::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchFlags {
  std::string config;
  std::vector<std::string> methods, variants, sweeps, changes;
  Grid grid;
  std::string out = "runs";
  std::string data;
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  bool cuda_graphs = WorkbenchOptions().cuda_graphs;
  bool tune = false;
  int64_t threads = 0;
  int64_t jobs = 1;
  std::string lanes = "auto";
  std::string shard;
  double lost_after = RankOptions().lost_after;
  bool any_version = false;
  bool list = false;
  bool json = false;
  std::set<std::string> given;
};

// "i/n"
struct Share {
  int64_t i = 0;
  int64_t n = 1;
};

Share parse_share(const std::string& text) {
  const auto slash = text.find('/');
  require(slash != std::string::npos, "--shard",
          "expected i/n, got \"" + text + "\"");
  const auto number = [](const std::string& part) {
    return std::get<int64_t>(
        parse_option("--shard", part, OptionValue(int64_t{0})));
  };
  return {number(text.substr(0, slash)), number(text.substr(slash + 1))};
}

Grid grid_of(const BenchFlags& flags) {
  Grid grid = flags.grid;
  require(!grid.dataset.empty(), "--dataset",
          "expected a name, see `sotta data`");
  require(!grid.model.empty(), "--model", "expected a weights file");
  for (const auto& text : flags.variants)
    grid.rows.push_back(parse_variant(text));
  for (const auto& text : flags.sweeps)
    for (auto& row : parse_sweep(text))
      grid.rows.push_back(std::move(row));
  auto methods = flags.methods;
  if (methods.empty() && grid.rows.empty()) methods = {"all"};
  for (auto method = methods.rbegin(); method != methods.rend(); ++method)
    grid.rows.insert(grid.rows.begin(), {"", *method, {}});
  for (const auto& text : flags.changes)
    grid.changes.push_back(parse_change(text, "--set"));
  return grid;
}

// Flags that would change nothing in any of these cells.
void check_effects(const BenchFlags& flags, const std::vector<Cell>& cells) {
  const auto& given = flags.given;
  const auto any = [&](auto holds) {
    return std::any_of(cells.begin(), cells.end(), holds);
  };
  require_effect(
      any([](const Cell& c) { return !c.stream.corruptions.empty(); }), given,
      {"--severity", "--corruption-seed"}, "a corruption");
  require_effect(any([](const Cell& c) {
                   const auto names = parse_corruptions(c.stream.corruptions);
                   return std::any_of(names.begin(), names.end(),
                                      takes_photographs);
                 }),
                 given, {"--frost-dir"}, "the corruption frost");
  require_effect(any([](const Cell& c) { return !c.stream.foreign.empty(); }),
                 given, {"--foreign"}, "a scenario that takes a dataset");
  require_effect(any([](const Cell& c) {
                   return find_scenario(c.stream.scenario).has_foreign();
                 }),
                 given, {"--foreign-count", "--foreign-share", "--burst"},
                 "a scenario with foreign images");
  require_effect(
      any([](const Cell& c) { return c.stream.order == "dirichlet"; }), given,
      {"--concentration"}, "--order dirichlet");
  require_effect(!parse_device(flags.device).is_cpu(), given,
                 {"--cuda-graphs", "--tune"}, "a GPU");
}

Json describe(const Cell& cell) {
  return {{"dataset", cell.dataset},
          {"model", cell.model},
          {"scenario", cell.stream.scenario},
          {"corruption", corruption_name(cell)},
          {"method", cell.method},
          {"variant", cell.variant},
          {"seed", cell.stream.seed}};
}

void print_cells(const std::vector<Cell>& cells, bool as_json) {
  if (as_json) {
    for (const Cell& cell : cells)
      std::cout << json_text(describe(cell)) << "\n";
    return;
  }
  for (const Cell& cell : cells)
    std::printf("%s\t%s\t%s\t%s\t%s\tseed %lld\n", cell.dataset.c_str(),
                cell.stream.scenario.c_str(),
                cell.stream.corruptions.empty() ? "none"
                                                : corruption_name(cell).c_str(),
                cell.method.c_str(),
                cell.variant.empty() ? "-" : cell.variant.c_str(),
                static_cast<long long>(cell.stream.seed));
}

double mean(const RowAverage& row) {
  return row.sum / static_cast<double>(row.cells);
}

// "1 running at window 57 of 157; sotta 81.2, tent 52.1": what runs, and the
// mean accuracies so far.
std::string note_of(const GridProgress& progress) {
  const RunningCells& running = progress.running;
  std::string text = std::to_string(running.cells) + " running at window " +
                     std::to_string(running.windows_done) + " of " +
                     std::to_string(running.windows);
  if (running.cells == 0) text.clear();
  const char* separator = text.empty() ? "" : "; ";
  for (const auto& [name, row] : progress.rows) {
    char number[32];
    std::snprintf(number, sizeof number, " %.1f", mean(row));
    text += separator + name + number;
    separator = ", ";
  }
  return text;
}

void print_averages(const GridProgress& progress) {
  for (const auto& [name, row] : progress.rows)
    std::printf("%-32s accuracy %6.2f %%  over %lld cells\n", name.c_str(),
                mean(row), static_cast<long long>(row.cells));
}

void print_summary(const GridOutcome& outcome, const RecordFolder& records) {
  const GridProgress& progress = outcome.progress;
  std::printf("%lld of %lld cells recorded, %lld of them before; %s\n",
              static_cast<long long>(progress.earlier + progress.done),
              static_cast<long long>(progress.cells),
              static_cast<long long>(progress.earlier), records.file().c_str());
}

void print_json(const GridOutcome& outcome, const RecordFolder& records,
                bool with_averages) {
  Json object;
  object["cells"] = outcome.progress.cells;
  object["earlier"] = outcome.progress.earlier;
  object["done"] = outcome.progress.done;
  object["failures"] = outcome.failures;
  object["stopped"] = outcome.stopped;
  if (with_averages) {
    auto& averages = object["averages"] = nlohmann::ordered_json::object();
    for (const auto& [name, row] : outcome.progress.rows)
      averages[name] = {{"accuracy", mean(row)}, {"cells", row.cells}};
  }
  object["file"] = records.file().string();
  std::cout << json_text(object) << "\n";
}

// Of several processes one has the averages, those of the grid.
void print_outcome(const GridOutcome& outcome, const RecordFolder& records,
                   bool json, bool with_averages) {
  if (json) return print_json(outcome, records, with_averages);
  if (with_averages) print_averages(outcome.progress);
  print_summary(outcome, records);
}

// What kept the grid from being finished becomes the program's last sentence.
void complain(const GridOutcome& outcome) {
  const std::string again = "; the same command continues";
  for (const auto& failure : outcome.failures)
    std::cerr << "sotta: " << failure << "\n";
  if (outcome.stopped)
    throw CLI::RuntimeError("interrupted, the records are kept" + again, 1);
  if (!outcome.lost.empty())
    throw CLI::RuntimeError(
        outcome.lost + "; the cells that were running here are recorded" +
            again,
        1);
  const size_t failed = outcome.failures.size();
  if (failed > 0)
    throw CLI::RuntimeError(std::to_string(failed) +
                                (failed == 1 ? " cell" : " cells") + " failed" +
                                again,
                            1);
}

// The writer's name, so that processes never share a file.
std::string writer_of(const std::optional<Share>& share,
                      const std::optional<RankOptions>& ranks) {
  if (share)
    return "shard" + std::to_string(share->i) + "of" + std::to_string(share->n);
  return ranks ? "rank" + std::to_string(ranks->rank) : "";
}

// Jobs are another way to have several cells side by side, so that with --jobs
// it is one lane unless more are asked for.
SideBySide side_by_side(const BenchFlags& flags, const std::vector<Cell>& cells,
                        int64_t threads) {
  constexpr int64_t kMostLanes = 256;
  if (flags.lanes != "auto") {
    const auto lanes = std::get<int64_t>(
        parse_option("--lanes", flags.lanes, OptionValue(int64_t{0})));
    require_within("--lanes", lanes, 1, kMostLanes);
    return {flags.jobs, lanes};
  }
  if (flags.jobs > 1 || flags.cuda_graphs) return {flags.jobs, 1};
  return suitable_for(cells, parse_device(flags.device),
                      parse_precision(flags.precision), threads);
}

WorkbenchOptions workbench_of(const BenchFlags& flags,
                              const std::vector<Cell>& cells) {
  const int64_t threads = use_threads(flags.threads);
  WorkbenchOptions options;
  const SideBySide beside = side_by_side(flags, cells, threads);
  options.jobs = beside.jobs;
  options.lanes = beside.lanes;
  options.threads_for_lanes = std::max<int64_t>(1, threads / options.jobs);
  // On a GPU threads do not compute for lanes: they prepare images.
  const bool divides = parse_device(flags.device).is_cpu();
  const int64_t sharers = options.jobs * (divides ? options.lanes : 1);
  use_threads(std::max<int64_t>(1, threads / sharers));
  options.data_root = data_root(flags.data);
  options.device = parse_device(flags.device);
  options.engine = flags.engine;
  options.precision = parse_precision(flags.precision);
  options.tuned = flags.tune;
  require(!flags.tune || !flags.cuda_graphs || flags.jobs == 1, "--tune",
          "expected one job where work is captured (--cuda-graphs), got " +
              std::to_string(flags.jobs));
  options.cuda_graphs = flags.cuda_graphs;
  return options;
}

void probe_models(const std::vector<Cell>& cells) {
  std::set<std::string> probed;
  for (const Cell& cell : cells) {
    if (!probed.insert(cell.model).second) continue;
    const DatasetEntry& entry = find_dataset(cell.dataset);
    LoadOptions options;
    options.normalisation = Normalisation{entry.mean, entry.std};
    probe_network(cell.model, options);
  }
}

void run(const BenchFlags& flags) {
  auto cells = expand(grid_of(flags));
  std::optional<RankOptions> ranks;
  std::optional<Share> share;
  if (flags.shard.empty()) {
    ranks = ranks_from_environment();
  } else {
    share = parse_share(flags.shard);
    cells = shard(cells, share->i, share->n);
  }
  check_effects(flags, cells);
  require_positive("--lost-after", flags.lost_after);
  if (flags.list) return print_cells(cells, flags.json);

  require_threads("--jobs", flags.jobs, 1);
  probe_models(cells);
  Workbench bench(workbench_of(flags, cells));
  RecordFolder records(flags.out, writer_of(share, ranks), flags.any_version);
  if (ranks) ranks->lost_after = flags.lost_after;
  const auto claims = ranks ? make_store_claims(*ranks) : make_local_claims();

  catch_interrupts();
  ProgressBar bar("cells");
  const GridOutcome outcome =
      run_grid(cells, bench.options().jobs, bench, records, *claims,
               [&](const GridProgress& now) {
                 bar.show({now.done, now.cells - now.earlier, note_of(now)},
                          now.running.share);
                 return !interrupted();
               });
  bar.finish();
  print_outcome(outcome, records, flags.json, !ranks || ranks->rank == 0);
  complain(outcome);
}

void add_grid_flags(CLI::App& command, BenchFlags& flags) {
  Grid& grid = flags.grid;
  grid.scenarios = {"all"};
  grid.corruptions = {"all"};
  command.add_option("--dataset", grid.dataset, "see `sotta data`");
  command.add_option("--model", grid.model,
                     "weights; {seed} in the name stands for the seed");
  command.add_option("--method", flags.methods, "names, or all")
      ->delimiter(',');
  command.add_option("--variant", flags.variants,
                     "a row of its own: \"NAME: METHOD option=value ...\"");
  command.add_option("--sweep", flags.sweeps,
                     "a row per value: \"METHOD option=value,value,...\"");
  command.add_option("--set", flags.changes,
                     "an option of all cells: option=value");
  command.add_option("--scenario", grid.scenarios, "names, or all")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--corruption", grid.corruptions,
                  "names, all, none, or sequence: all in one stream")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--seeds", grid.seeds, "numbers with commas between")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--preset", grid.preset, "clean or paper")
      ->capture_default_str();
  add_option_flags(command, grid.stream,
                   {"scenario", "corruptions", "seed", "domains"});
}

void add_run_flags(CLI::App& command, BenchFlags& flags) {
  command.add_option("--out", flags.out, "folder of records")
      ->capture_default_str();
  add_data_flag(command, flags.data);
  add_device_flags(command, flags.device, flags.threads);
  add_option_flags(command, flags.engine);
  add_precision_flag(command, flags.precision);
  command
      .add_option("--cuda-graphs", flags.cuda_graphs,
                  "on a GPU, capture a window's work as a CUDA graph; with "
                  "fp32, for one job")
      ->capture_default_str();
  command
      .add_option("--tune", flags.tune,
                  "on a GPU, try first which way of a convolution is fastest")
      ->capture_default_str();
  command
      .add_option("--jobs", flags.jobs,
                  "cells side by side; threads are divided among them")
      ->capture_default_str();
  command
      .add_option("--lanes", flags.lanes,
                  "cells of each job that go through the network together: a "
                  "number, or auto")
      ->capture_default_str();
  command.add_option("--shard", flags.shard,
                     "i/n: the i-th of n shares, from 0");
  command
      .add_option("--lost-after", flags.lost_after,
                  "seconds without a sign of life that a rank is given, rank 0 "
                  "also at the start")
      ->capture_default_str();
  command.add_flag("--any-version", flags.any_version,
                   "continue records of another version");
  command.add_flag("--list", flags.list, "print the cells and run none");
  command.add_flag("--json", flags.json,
                   "print the outcome as JSON; with --list, a line per cell");
}

}  // namespace

void add_bench(CLI::App& program) {
  auto* command = program.add_subcommand(
      "bench", "run methods over streams, and record what comes out");
  auto flags = std::make_shared<BenchFlags>();
  command->add_option("--config", flags->config,
                      "TOML file with these flags as keys");
  add_grid_flags(*command, *flags);
  add_run_flags(*command, *flags);
  command->callback([command, flags] {
    flags->given = given_flags(*command);
    if (!flags->config.empty()) read_config_file(flags->config, *command);
    run(*flags);
  });
}

}  // namespace sotta::cli
