#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/engine/open_model.h"
#include "sotta/eval/grid.h"
#include "sotta/gpu/device.h"

#include "commands.h"
#include "core/checks.h"
#include "core/output_place.h"
#include "data/sets/catalog.h"
#include "flags.h"
#include "gpu/out_of_memory.h"
#include "image_input.h"
#include "method_flags.h"
#include "models/network_file.h"
#include "models/stored_size.h"
#include "network_probe.h"
#include "prediction_writer.h"
#include "process.h"
#include "progress_bar.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

// Of images, in pixels.
constexpr int64_t kLargestSide = 16384;

struct AdaptFlags {
  std::string model;
  std::string dataset, mean, std;  // how the model's inputs are normalised
  ImageInputOptions input;
  MethodFlags method;
  std::string source_images;
  std::string out = "-";
  std::string format = "jsonl";
  std::string state_in, state_out, export_to;
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  int64_t threads = 0;
};

// The side of the images, by the flag or the weights; 0: none is said.
int64_t side_of(const ImageInputOptions& input) {
  return input.size > 0 ? input.size : input.default_size;
}

struct Place {
  const char* flag;
  const std::string& path;
};

// Where a file is, or would be, by way of a link to no file yet too; empty if
// the system knows no such place, which whoever opens it says better.
fs::path whole_path(const std::string& path) {
  std::error_code problem;
  fs::path whole = fs::absolute(path, problem);
  if (fs::is_symlink(whole, problem) && !fs::exists(whole, problem))
    whole = whole.parent_path() / fs::read_symlink(whole, problem);
  return fs::weakly_canonical(whole, problem);
}

bool is_same_file(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  std::error_code ignored;
  if (fs::is_other(fs::status(one, ignored))) return false;  // /dev/stdout
  if (fs::equivalent(one, other, ignored)) return true;
  const fs::path whole = whole_path(one);
  return !whole.empty() && whole == whole_path(other);
}

// No file that a flag names is written over by another flag's, but for a state
// and for weights, which are read before they are written.
void check_places(const AdaptFlags& flags) {
  const std::string none;
  const auto file_of = [&](const std::string& path) -> const std::string& {
    return path == "-" ? none : path;  // standard input, or output
  };
  const std::vector<Place> places = {
      {"--input", file_of(flags.input.path)},
      {"--model", flags.model},
      {"--state-in", flags.state_in},
      {"--source-images", flags.source_images},
      {"--out", file_of(flags.out)},
      {"--state-out", flags.state_out},
      {"--export", flags.export_to},
  };
  const auto may_be = [&](const std::string& written, const std::string& read) {
    return (written == "--state-out" && read == "--state-in") ||
           (written == "--export" && read == "--model" &&
            !brings_network(flags.model));  // weights alone are exported
  };
  constexpr size_t kFirstOutput = 4;
  for (size_t i = kFirstOutput; i < places.size(); ++i)
    for (size_t other = 0; other < i; ++other)
      require(may_be(places[i].flag, places[other].flag) ||
                  !is_same_file(places[i].path, places[other].path),
              places[i].flag,
              places[i].path + " is the file of " + places[other].flag);
}

void check_flags(const AdaptFlags& flags) {
  check_method_flags(flags.method);
  check_places(flags);
  require_within("--size", flags.input.size, 0, kLargestSide);
  require_within("--shorter-side", flags.input.shorter_side, 0, kLargestSide);
  const int64_t side = side_of(flags.input);
  require(flags.input.shorter_side == 0 || side > 0, "--shorter-side",
          "expected --size too, the side of what is cropped");
  require(flags.input.shorter_side == 0 || flags.input.shorter_side >= side,
          "--shorter-side",
          "expected at least --size, " + std::to_string(side) + ", got " +
              std::to_string(flags.input.shorter_side));
}

// What the flags say of it; nothing leaves it to the weights.
std::optional<Normalisation> normalisation_of(const AdaptFlags& flags) {
  require(flags.mean.empty() == flags.std.empty(), "--mean and --std",
          "expected both or neither");
  require(flags.mean.empty() || flags.dataset.empty(), "--dataset",
          "expected --mean and --std or this, got both");
  if (!flags.mean.empty()) {
    const Normalisation given{parse_number_list(flags.mean, "--mean"),
                              parse_number_list(flags.std, "--std")};
    check_normalisation(given, "--mean and --std");
    return given;
  }
  if (flags.dataset.empty()) return std::nullopt;
  const DatasetEntry& entry = find_dataset(flags.dataset);
  return Normalisation{entry.mean, entry.std};
}

std::shared_ptr<const Classifier> open_model(const AdaptFlags& flags) {
  ModelOptions options;
  options.normalisation = normalisation_of(flags);
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  probe_network(flags.model, options);
  options.engine = flags.engine;
  return sotta::open_model(flags.model, options);
}

void fail_for_unreadable(const ImageBatch::Item& item) {
  if (!item.error.empty()) throw Error(ErrorKind::kBadFormat, item.error);
}

at::Tensor all_images(const AdaptFlags& flags, int64_t channels) {
  if (flags.source_images.empty()) return {};
  ImageInputOptions options = flags.input;
  options.path = flags.source_images;
  options.channels = channels;
  options.strict = true;
  require(options.path != "-", "--source-images", "cannot be standard input");
  const auto input = open_images(options);
  const ImageBatch all = input->next(input->total());
  fail_for_unreadable(all.items.back());
  return all.images.to(parse_device(flags.device));
}

std::unique_ptr<Adapter> prepare(const AdaptFlags& flags) {
  MethodContext context;
  context.model = open_model(flags);
  context.rng = Rng(static_cast<uint64_t>(flags.method.seed));
  context.update_interval = flags.method.window;
  context.source_images = all_images(flags, context.model->channels());
  auto adapter = make_adapter(
      flags.method.method, context, parse_preset(flags.method.preset),
      parse_method_changes(flags.method, context.model->classes()),
      flags.method.guard);
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

TensorFile exported(const AdaptFlags& flags, const Adapter& adapter) {
  TensorFile weights = export_weights(adapter.model(), adapter.state());
  const int64_t side = side_of(flags.input);
  if (side > 0) weights.metadata["size"] = std::to_string(side);
  return weights;
}

struct Tally {
  int64_t lines = 0;
  int64_t images = 0;  // that could be read
  int64_t admitted = 0;
  int64_t not_finite = 0;
  int64_t by_source = 0;  // images that the source model answered for a floor

  int64_t unreadable() const { return lines - images; }

  void add(const ImageBatch& batch, const StepResult& result) {
    lines += static_cast<int64_t>(batch.items.size());
    images += static_cast<int64_t>(result.verdicts.size());
    by_source += result.by_source;
    for (size_t i = 0; i < result.verdicts.size(); ++i) {
      if (result.verdicts[i] == Verdict::kAdmitted) ++admitted;
      if (!is_finite(result.prediction, static_cast<int64_t>(i))) ++not_finite;
    }
  }
};

void adapt_all(const AdaptFlags& flags, Adapter& adapter, ImageInput& input,
               PredictionWriter& writer, Tally& tally) {
  const at::Device device = parse_device(flags.device);
  ProgressBar bar("images");
  if (adapter.update_due()) {  // a restored state may hold a whole window
    StepResult due;
    due.guard = adapter.update().guard;
    say_guard(bar, adapter, due);
  }
  while (!interrupted()) {
    // Up to the end of the window, which a restored state may have begun.
    const ImageBatch batch = input.next(adapter.room());
    if (batch.items.empty()) break;
    StepResult result;
    if (batch.images.defined()) result = adapter.step(batch.images.to(device));
    tally.add(batch, result);
    writer.write(batch.items, result.prediction, result.verdicts,
                 result.screening.scores);
    say_guard(bar, adapter, result);
    if (flags.input.strict) fail_for_unreadable(batch.items.back());
    if (input.total() > 0) bar.show({tally.lines, input.total(), ""});
  }
  bar.finish();
  writer.close();
}

void say_summary(const Tally& tally, const Adapter& adapter) {
  if (tally.not_finite > 0)
    std::fprintf(stderr,
                 "sotta: the network's answers to %lld of the images are no "
                 "finite numbers, nothing was learnt from them\n",
                 static_cast<long long>(tally.not_finite));
  if (tally.by_source > 0)
    std::fprintf(stderr, "sotta: the source model answered for %lld images\n",
                 static_cast<long long>(tally.by_source));
  std::fprintf(stderr, "%lld images, %lld admitted, %lld updates%s\n",
               static_cast<long long>(tally.images),
               static_cast<long long>(tally.admitted),
               static_cast<long long>(adapter.updates()),
               interrupted() ? " (interrupted)" : "");
}

// What kept the run from being all that was asked for becomes the program's
// last sentence. Standard input has no end that an interrupt could miss.
void complain(const Tally& tally, const ImageInput& input) {
  const auto of = [](int64_t some, int64_t all) {
    return std::to_string(some) + " of " + std::to_string(all) + " images";
  };
  if (interrupted() && tally.lines < input.total())
    throw CLI::RuntimeError(
        "interrupted after " + of(tally.lines, input.total()), 1);
  if (tally.unreadable() > 0)
    throw CLI::RuntimeError(of(tally.unreadable(), tally.lines) +
                                " could not be read, their lines say why",
                            1);
}

void adapt(AdaptFlags& flags) {
  check_flags(flags);
  for (const auto& file : {flags.state_out, flags.export_to})
    if (!file.empty()) check_writable(file);
  use_threads(flags.threads);
  const auto adapter = prepare(flags);
  flags.input.channels = adapter->model().channels();
  flags.input.height = adapter->image_height();
  flags.input.width = adapter->image_width();
  const auto input = open_images(flags.input);
  const auto writer = open_prediction_writer(flags.out, flags.format);

  catch_interrupts();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error like others
  // Whatever goes wrong, what was learnt until then is kept.
  std::exception_ptr problem;
  const auto attempt = [&](const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      if (problem)
        std::fprintf(stderr, "sotta: %s\n", first_line(error).c_str());
      else
        problem = std::current_exception();
    }
  };
  Tally tally;
  attempt([&] { adapt_all(flags, *adapter, *input, *writer, tally); });
  attempt([&] {
    if (!flags.state_out.empty())
      write_snapshot(flags.state_out, adapter->snapshot());
  });
  attempt([&] {
    if (!flags.export_to.empty())
      write_safetensors(flags.export_to, exported(flags, *adapter));
  });
  if (!problem || tally.images > 0) say_summary(tally, *adapter);
  if (problem) std::rethrow_exception(problem);
  complain(tally, *input);
}

void run(AdaptFlags& flags) {
  explain_out_of_memory("a smaller --window needs less", [&] { adapt(flags); });
}

void add_model_flags(CLI::App& command, AdaptFlags& flags) {
  command
      .add_option("--model", flags.model, "safetensors, TorchScript or .pt2")
      ->required();
  command.add_option("--dataset", flags.dataset,
                     "normalise inputs as for this dataset [as the weights "
                     "say]");
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
  command.add_option(
      "--size", flags.input.size,
      "resize images to this side, 0: as they are [as the weights "
      "say, else as they are]");
  command.add_option("--shorter-side", flags.input.shorter_side,
                     "resize to this first, then crop the middle");
  command.add_flag("--strict", flags.input.strict,
                   "stop at the first image that cannot be read");
  command.add_option("--source-images", flags.source_images,
                     "images like those the model was trained on (EATA, SoTTA "
                     "with min_confidence=-1)");
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
  add_method_flags(*command, flags->method);
  add_output_flags(*command, *flags);
  command->callback([command, flags] {
    flags->method.given = given_flags(*command);
    if (flags->method.given.count("--size") == 0)
      flags->input.default_size = stored_size(flags->model).value_or(0);
    run(*flags);
  });
}

}  // namespace sotta::cli
