#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include <ATen/Parallel.h>

#include "sotta/core/error.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/open_model.h"
#include "sotta/eval/evaluate.h"
#include "sotta/gpu/device.h"
#include "sotta/record/record_file.h"
#include "sotta/stream/stream_sources.h"

#include "commands.h"
#include "core/peak_memory.h"
#include "data/sets/catalog.h"
#include "eval/begin_record.h"
#include "flags.h"
#include "gpu/out_of_memory.h"
#include "network_probe.h"
#include "process.h"
#include "progress_bar.h"
#include "standard_streams.h"

namespace sotta::cli {
namespace {

struct EvalFlags {
  std::string model;
  std::string dataset;
  std::string split = "test";
  std::string data;
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  std::string record;
  int64_t threads = 0;
  bool json = false;
  EvaluateOptions options;
  std::string corruption;
  int64_t severity = kMaxSeverity;
  int64_t corruption_seed = 0;
  std::string frost_dir;
  std::set<std::string> given;
};

void check_effects(const EvalFlags& flags,
                   const std::vector<std::string>& corruptions) {
  require_effect(!flags.corruption.empty(), flags.given,
                 {"--severity", "--corruption-seed"}, "--corruption");
  require_effect(
      std::any_of(corruptions.begin(), corruptions.end(), takes_photographs),
      flags.given, {"--frost-dir"}, "the corruption frost");
}

std::unique_ptr<Classifier> open_model(const EvalFlags& flags) {
  const DatasetEntry& entry = find_dataset(flags.dataset);
  ModelOptions options;
  options.default_normalisation = Normalisation{entry.mean, entry.std};
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  probe_network(flags.model, options);
  options.engine = flags.engine;
  return sotta::open_model(flags.model, options);
}

StreamDomain open_images(const EvalFlags& flags,
                         const std::string& corruption) {
  const auto root = data_root(flags.data);
  if (corruption == "clean")
    return {corruption, open_dataset(flags.dataset, root, flags.split)};
  const DatasetEntry& entry = find_dataset(flags.dataset);
  require(find_split(entry, flags.split).name != "train", "split",
          "only the evaluation images can be corrupted, got train");
  StreamOptions options;
  options.corruptions = corruption;
  options.severity = flags.severity;
  options.corruption_seed = flags.corruption_seed;
  options.frost_dir = flags.frost_dir;
  return open_sources(flags.dataset, root, options).domains.at(0);
}

void add_corruption(RunRecord& record, const EvalFlags& flags,
                    const std::string& source) {
  record.severity = flags.severity;
  record.corruption_source = source;
  record.options["corruption_seed"] = flags.corruption_seed;
  if (!takes_photographs(record.corruption) || source != "made") return;
  CorruptionOptions options;
  options.frost_dir = flags.frost_dir;
  record.options["frost_textures"] = frost_source(options);
}

RunRecord make_record(const EvalFlags& flags, const Classifier& model,
                      const EvaluateResult& result,
                      const std::string& corruption) {
  RunRecord record =
      begin_record({"eval", flags.dataset, RunRecord::kSource, "", corruption});
  record.model = std::filesystem::path(flags.model).filename().string();
  record.device = parse_device(flags.device).str();
  record.engine = model.engine();
  record.threads = at::get_num_threads();
  record.options = to_option_map(flags.options);
  record.options["split"] = flags.split;
  if (parse_precision(flags.precision) != Precision::kFloat32)
    record.options["precision"] = flags.precision;
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
  const std::string images = record.corruption.empty()
                                 ? record.dataset
                                 : record.dataset + " " + record.corruption +
                                       " " + std::to_string(record.severity) +
                                       " (" + record.corruption_source + ")";
  std::printf(
      "%s on %s: accuracy %.2f %% (%lld of %lld), %.0f images/s, peak memory "
      "%.0f MB\n",
      record.model.c_str(), images.c_str(), record.accuracy,
      static_cast<long long>(record.correct),
      static_cast<long long>(record.samples), record.images_per_second,
      static_cast<double>(record.peak_memory_bytes) / 1e6);
}

RunRecord run_one(const EvalFlags& flags, const Classifier& model,
                  const std::string& corruption) {
  const StreamDomain data = open_images(flags, corruption);
  ProgressBar bar("images");
  const EvaluateResult result = evaluate(model, *data.images, flags.options,
                                         [&](const Progress& progress) {
                                           bar.show(progress);
                                           return !interrupted();
                                         });
  bar.finish();
  if (result.stopped)
    throw CLI::RuntimeError(
        "interrupted, nothing recorded of the " + corruption + " images", 1);
  const bool clean = data.source.empty();
  RunRecord record = make_record(flags, model, result, clean ? "" : corruption);
  if (!clean) add_corruption(record, flags, data.source);
  return record;
}

void evaluate(const EvalFlags& flags) {
  if (!flags.record.empty()) check_appendable(flags.record);
  const auto corruptions = parse_corruptions(flags.corruption);
  check_effects(flags, corruptions);
  use_threads(flags.threads);
  const auto model = open_model(flags);
  catch_interrupts();
  double sum = 0;
  for (const std::string& corruption : corruptions) {
    const RunRecord record = run_one(flags, *model, corruption);
    if (!flags.record.empty()) append_record(flags.record, record);
    sum += record.accuracy;
    if (flags.json)
      std::cout << to_json(record) << std::endl;
    else
      print_summary(record);
    flush_output();  // nobody may be listening any more
  }
  const auto count = corruptions.size();
  if (count > 1 && !flags.json)
    std::printf("average of %zu corruptions: accuracy %.2f %%\n", count,
                sum / static_cast<double>(count));
}

void run(const EvalFlags& flags) {
  explain_out_of_memory("a smaller --batch needs less",
                        [&] { evaluate(flags); });
}

}  // namespace

void add_eval(CLI::App& program) {
  auto* command = program.add_subcommand(
      "eval", "accuracy of a model as it is, without adaptation");
  auto flags = std::make_shared<EvalFlags>();
  command->add_option("--model", flags->model, "weights (safetensors)")
      ->required();
  add_dataset_flags(*command, flags->dataset, flags->data);
  command->add_option("--split", flags->split, "test or train")
      ->capture_default_str();
  add_device_flags(*command, flags->device, flags->threads);
  add_option_flags(*command, flags->engine);
  add_precision_flag(*command, flags->precision);
  command->add_option("--record", flags->record,
                      "append the result to this file of JSON lines");
  command->add_flag("--json", flags->json,
                    "print the record as JSON, one line per corruption");
  add_option_flags(*command, flags->options);
  command->add_option("--corruption", flags->corruption,
                      "corrupt the images: kinds, or all for the fifteen");
  command->add_option("--severity", flags->severity, "of it, 1 to 5")
      ->capture_default_str();
  command->add_option("--corruption-seed", flags->corruption_seed, "of it")
      ->capture_default_str();
  command->add_option("--frost-dir", flags->frost_dir,
                      "folder with the frost photographs");
  command->callback([command, flags] {
    flags->given = given_flags(*command);
    run(*flags);
  });
}

}  // namespace sotta::cli
