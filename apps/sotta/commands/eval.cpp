#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "sotta/core/peak_memory.h"
#include "sotta/core/version.h"
#include "sotta/data/catalog.h"
#include "sotta/data/open_dataset.h"
#include "sotta/eval/evaluate.h"
#include "sotta/models/weights.h"
#include "sotta/nn/device.h"
#include "sotta/record/record_file.h"

#include "commands.h"
#include "flags.h"
#include "process.h"
#include "progress_bar.h"

namespace sotta::cli {
namespace {

struct EvalFlags {
  std::string model;
  std::string dataset;
  std::string split = "test";
  std::string data;
  std::string device = "cpu";
  std::string record;
  int64_t threads = 0;
  bool json = false;
  EvaluateOptions options;
};

std::unique_ptr<Classifier> load_model(const EvalFlags& flags) {
  const DatasetEntry& entry = find_dataset(flags.dataset);
  LoadOptions options;
  options.normalisation = Normalisation{entry.mean, entry.std};
  options.device = parse_device(flags.device);
  return load_classifier(flags.model, options);
}

RunRecord make_record(const EvalFlags& flags, const Classifier& model,
                      const EvaluateResult& result, int64_t threads) {
  RunRecord record;
  record.version = version();
  record.libtorch = libtorch_version();
  record.verb = "eval";
  record.dataset = flags.dataset;
  record.model = std::filesystem::path(flags.model).filename().string();
  record.device = flags.device;
  record.engine = model.engine();
  record.threads = threads;
  record.options = to_option_map(flags.options);
  record.options["split"] = flags.split;
  record.samples = result.samples;
  record.correct = result.correct;
  record.accuracy = result.accuracy();
  record.seconds = result.seconds;
  record.images_per_second =
      result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds
                         : 0;
  record.peak_memory_bytes = peak_memory_bytes();
  return record;
}

void print_summary(const RunRecord& record) {
  std::printf(
      "%s on %s: accuracy %.2f %% (%lld of %lld), %.0f images/s, peak memory "
      "%.0f MB\n",
      record.model.c_str(), record.dataset.c_str(), record.accuracy,
      static_cast<long long>(record.correct),
      static_cast<long long>(record.samples), record.images_per_second,
      static_cast<double>(record.peak_memory_bytes) / 1e6);
}

void run(const EvalFlags& flags) {
  const int64_t threads = use_threads(flags.threads);
  const auto model = load_model(flags);
  const auto data =
      open_dataset(flags.dataset, data_root(flags.data), flags.split);

  catch_interrupts();
  ProgressBar bar("images");
  const EvaluateResult result =
      evaluate(*model, *data, flags.options, [&](const Progress& progress) {
        bar.show(progress);
        return !interrupted();
      });
  bar.finish();
  if (result.stopped)
    throw CLI::RuntimeError("interrupted, nothing recorded", 1);

  const RunRecord record = make_record(flags, *model, result, threads);
  if (!flags.record.empty()) append_record(flags.record, record);
  if (flags.json)
    std::cout << to_json(record) << "\n";
  else
    print_summary(record);
}

}  // namespace

void add_eval(CLI::App& program) {
  auto* command = program.add_subcommand(
      "eval", "accuracy of a model as it is, without adaptation");
  auto flags = std::make_shared<EvalFlags>();
  command->add_option("--model", flags->model, "weights (safetensors)")
      ->required();
  command->add_option("--dataset", flags->dataset, "see `sotta data`")
      ->required();
  command->add_option("--split", flags->split, "test or train")
      ->capture_default_str();
  command->add_option("--data", flags->data,
                      "data root [SOTTA_DATA, else ./data]");
  command->add_option("--device", flags->device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "0: all cores")
      ->capture_default_str();
  command->add_option("--record", flags->record,
                      "append the result to this file of JSON lines");
  command->add_flag("--json", flags->json, "print the record as JSON");
  add_option_flags(*command, flags->options);
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
