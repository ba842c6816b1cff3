#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/checks.h"
#include "sotta/core/error.h"
#include "sotta/core/output_place.h"
#include "sotta/data/catalog.h"
#include "sotta/eval/grid.h"
#include "sotta/eval/load_model.h"
#include "sotta/nn/device.h"
#include "sotta/nn/out_of_memory.h"

#include "commands.h"
#include "flags.h"
#include "image_input.h"
#include "prediction_writer.h"
#include "process.h"
#include "progress_bar.h"

namespace sotta::cli {
namespace {

struct AdaptFlags {
  std::string model;
  std::string dataset, mean, std;  // how the model's inputs are normalised
  ImageInputOptions input;
  std::string method = "sotta";
  std::string preset = "clean";
  std::vector<std::string> changes;  // "min_confidence=0.9"
  std::string source_images;
  int64_t window = 64;
  int64_t seed = 0;
  GuardOptions guard;
  std::string out = "-";
  std::string format = "jsonl";
  std::string state_in, state_out, export_to;
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  int64_t threads = 0;
};

std::optional<Normalisation> normalisation_of(const AdaptFlags& flags) {
  require(flags.mean.empty() == flags.std.empty(), "--mean and --std",
          "expected both or neither");
  if (!flags.mean.empty())
    return Normalisation{parse_number_list(flags.mean, "--mean"),
                         parse_number_list(flags.std, "--std")};
  if (flags.dataset.empty()) return std::nullopt;
  const DatasetEntry& entry = find_dataset(flags.dataset);
  return Normalisation{entry.mean, entry.std};
}

std::shared_ptr<const Classifier> open_model(const AdaptFlags& flags) {
  LoadOptions options;
  options.normalisation = normalisation_of(flags);
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  return load_model(flags.model, options, flags.engine);
}

// "name=value" pairs, each read as the type the method's option has.
OptionMap parse_changes(const AdaptFlags& flags, int64_t classes) {
  const auto known =
      method_options(flags.method, parse_preset(flags.preset), classes);
  std::vector<std::string> names;
  for (const auto& field : known)
    names.push_back(field.name);
  OptionMap changes;
  for (const auto& text : flags.changes) {
    const auto [name, value] = parse_change(text, "--set");
    const auto field = std::find(names.begin(), names.end(), name);
    if (field == names.end()) fail_unknown_name(flags.method, name, names);
    changes[name] = parse_option(
        name, value, known[static_cast<size_t>(field - names.begin())].value);
  }
  return changes;
}

at::Tensor all_images(const AdaptFlags& flags, int64_t channels) {
  if (flags.source_images.empty()) return {};
  ImageInputOptions options = flags.input;
  options.path = flags.source_images;
  options.channels = channels;
  const auto input = open_images(options);
  require(input->total() > 0, "--source-images", "cannot be standard input");
  return input->next(input->total()).images.to(parse_device(flags.device));
}

std::unique_ptr<Adapter> prepare(const AdaptFlags& flags) {
  MethodContext context;
  context.model = open_model(flags);
  context.rng = Rng(static_cast<uint64_t>(flags.seed));
  context.update_interval = flags.window;
  context.source_images = all_images(flags, context.model->channels());
  auto adapter =
      make_adapter(flags.method, context, parse_preset(flags.preset),
                   parse_changes(flags, context.model->classes()), flags.guard);
  if (!flags.state_in.empty()) adapter->restore(read_snapshot(flags.state_in));
  return adapter;
}

void say_guard(ProgressBar& bar, const Adapter& adapter,
               const StepResult& result) {
  if (result.guard.empty()) return;
  bar.finish();
  std::fprintf(stderr, "sotta: after %lld images: %s\n",
               static_cast<long long>(adapter.samples()), result.guard.c_str());
}

struct Tally {
  int64_t images = 0;
  int64_t admitted = 0;
  bool stopped = false;
};

Tally adapt_all(const AdaptFlags& flags, Adapter& adapter, ImageInput& input,
                PredictionWriter& writer) {
  const at::Device device = parse_device(flags.device);
  ProgressBar bar("images");
  Tally tally;
  while (!interrupted()) {
    // Up to the end of the window, which a restored state may have begun.
    const ImageBatch batch =
        input.next(flags.window - adapter.samples() % flags.window);
    if (batch.names.empty()) break;
    const StepResult result = adapter.step(batch.images.to(device));
    writer.write(batch.names, result.prediction, result.verdicts);
    tally.images += static_cast<int64_t>(batch.names.size());
    tally.admitted += std::count(result.verdicts.begin(), result.verdicts.end(),
                                 Verdict::kAdmitted);
    say_guard(bar, adapter, result);
    if (input.total() > 0) bar.show({tally.images, input.total(), ""});
  }
  bar.finish();
  tally.stopped = interrupted();
  return tally;
}

void adapt(AdaptFlags& flags) {
  require_at_least("--window", flags.window, 1);
  for (const auto& file : {flags.state_out, flags.export_to})
    if (!file.empty()) check_writable(file);
  use_threads(flags.threads);
  const auto adapter = prepare(flags);
  flags.input.channels = adapter->model().channels();
  const auto input = open_images(flags.input);
  const auto writer = open_prediction_writer(flags.out, flags.format);

  catch_interrupts();
  const Tally tally = adapt_all(flags, *adapter, *input, *writer);
  writer->close();
  if (!flags.state_out.empty())
    write_snapshot(flags.state_out, adapter->snapshot());
  if (!flags.export_to.empty())
    write_safetensors(flags.export_to,
                      export_weights(adapter->model(), adapter->state()));
  std::fprintf(stderr, "%lld images, %lld admitted, %lld updates%s\n",
               static_cast<long long>(tally.images),
               static_cast<long long>(tally.admitted),
               static_cast<long long>(adapter->updates()),
               tally.stopped ? " (interrupted)" : "");
}

void run(AdaptFlags& flags) {
  explain_out_of_memory("a smaller --window needs less", [&] { adapt(flags); });
}

void add_model_flags(CLI::App& command, AdaptFlags& flags) {
  command.add_option("--model", flags.model, "safetensors or TorchScript")
      ->required();
  command.add_option("--dataset", flags.dataset,
                     "normalise inputs as for this dataset");
  command.add_option("--mean", flags.mean,
                     "or by these means, \"0.49,0.48,0.45\"");
  command.add_option("--std", flags.std, "and these standard deviations");
  add_device_flags(command, flags.device, flags.threads);
  add_option_flags(command, flags.engine);
  add_precision_flag(command, flags.precision);
}

void add_input_flags(CLI::App& command, AdaptFlags& flags) {
  command
      .add_option("--input", flags.input.path,
                  "folder, .npy, image, or - for names on standard input")
      ->required();
  command.add_option("--size", flags.input.size,
                     "resize images to this side; 0: as they are");
  command.add_option("--shorter-side", flags.input.shorter_side,
                     "resize to this first, then crop the middle");
  command.add_option("--source-images", flags.source_images,
                     "images like those the model was trained on (EATA, SoTTA "
                     "with min_confidence=-1)");
}

void add_method_flags(CLI::App& command, AdaptFlags& flags) {
  command.add_option("--method", flags.method, "see `sotta info`")
      ->capture_default_str();
  command.add_option("--preset", flags.preset, "clean or paper")
      ->capture_default_str();
  command.add_option("--set", flags.changes,
                     "an option of the method, name=value");
  command.add_option("--window", flags.window, "images between two updates")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "of every random choice")
      ->capture_default_str();
  add_option_flags(command, flags.guard);
}

void add_output_flags(CLI::App& command, AdaptFlags& flags) {
  command.add_option("--out", flags.out, "predictions; - for standard output")
      ->capture_default_str();
  command.add_option("--format", flags.format, "jsonl or csv")
      ->capture_default_str();
  command.add_option("--state-in", flags.state_in,
                     "go on from this state of an earlier run");
  command.add_option("--state-out", flags.state_out,
                     "write the state to go on from");
  command.add_option("--export", flags.export_to,
                     "write the adapted model's weights (safetensors)");
}

}  // namespace

void add_adapt(CLI::App& program) {
  auto* command = program.add_subcommand(
      "adapt", "predict a stream of images, adapting to it");
  auto flags = std::make_shared<AdaptFlags>();
  add_model_flags(*command, *flags);
  add_input_flags(*command, *flags);
  add_method_flags(*command, *flags);
  add_output_flags(*command, *flags);
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
