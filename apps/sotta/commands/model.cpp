#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/rand.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/open_model.h"
#include "sotta/eval/evaluate.h"

#include "commands.h"
#include "core/checks.h"
#include "data/images/channels.h"
#include "data/sets/catalog.h"
#include "data/sets/image_folder.h"
#include "eval/model_check.h"
#include "flags.h"
#include "gpu/out_of_memory.h"
#include "json_text.h"
#include "models/network_file.h"
#include "models/stored_size.h"
#include "network_probe.h"
#include "process.h"

namespace sotta::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestSide = 16384;
const std::vector<int64_t> kUsualSides = {28, 32, 64, 96, 224, 256, 299, 384};

// Images that the methods are tried on.
constexpr int64_t kTriedImages = 2;

struct CheckFlags {
  std::string model;
  std::string input;
  std::string dataset, data;
  std::string mean, std;
  int64_t size = 0;
  int64_t limit = 1000;
  int64_t threads = 0;
  bool json = false;
};

void check_flags(const CheckFlags& flags) {
  require(flags.mean.empty() == flags.std.empty(), "--mean and --std",
          "expected both or neither");
  require(flags.input.empty() || flags.dataset.empty(), "--dataset",
          "expected --input or this, got both");
  require_within("--size", static_cast<double>(flags.size), 0, kLargestSide);
  require(flags.limit >= 1, "--limit",
          "expected at least 1, got " + std::to_string(flags.limit));
}

// The network and where its normalisation is from.
struct Opened {
  std::shared_ptr<const Classifier> model;
  std::string constants;  // "flags", "file", "dataset" or "none"
};

Opened open(const CheckFlags& flags) {
  ModelOptions options;
  Opened opened;
  opened.constants = has_stored_normalisation(flags.model) ? "file" : "none";
  if (!flags.mean.empty()) {
    opened.constants = "flags";
    options.normalisation = {parse_number_list(flags.mean, "--mean"),
                             parse_number_list(flags.std, "--std")};
    check_normalisation(*options.normalisation, "--mean and --std");
  } else if (!flags.dataset.empty()) {
    const DatasetEntry& entry = find_dataset(flags.dataset);
    options.default_normalisation = Normalisation{entry.mean, entry.std};
    if (opened.constants == "none") opened.constants = "dataset";
  } else if (opened.constants == "none") {
    // Pixels as they are, so that the rest can be said.
    const auto channels =
        static_cast<size_t>(stored_channels(flags.model).value_or(3));
    options.default_normalisation = Normalisation{
        std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
  }
  probe_network(flags.model, options);
  opened.model = open_model(flags.model, options);
  return opened;
}

// The only side that fits, by the flag, the file or what runs.
int64_t side_for(const CheckFlags& flags, const std::vector<int64_t>& taken) {
  if (flags.size > 0) return flags.size;
  if (const auto stored = stored_size(flags.model)) return *stored;
  require(taken.size() == 1, "--size",
          "expected the side of the images, for the file does not say it");
  return taken[0];
}

std::unique_ptr<Dataset> open_labelled(const CheckFlags& flags,
                                       const std::vector<int64_t>& taken) {
  if (!flags.dataset.empty())
    return open_dataset(flags.dataset, data_root(flags.data), "test");
  if (flags.input.empty()) return nullptr;
  ImageFolderOptions options;
  options.height = options.width = side_for(flags, taken);
  options.shorter_side = 0;
  return std::make_unique<ImageFolder>(flags.input, options);
}

// Some of the images, from all over the dataset: folders have them by class.
std::vector<int64_t> spread(int64_t size, int64_t limit) {
  const int64_t count = std::min(size, limit);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i)
    indices.push_back(i * size / count);
  return indices;
}

class Report {
 public:
  explicit Report(const CheckFlags& flags) : flags_(flags) {
    const Opened opened = open(flags);
    model_ = opened.model;
    describe(opened.constants);
    std::vector<int64_t> sides = kUsualSides;
    for (const int64_t side :
         {flags.size, stored_size(flags.model).value_or(0)})
      if (side > 0 &&
          std::find(sides.begin(), sides.end(), side) == sides.end())
        sides.push_back(side);
    std::sort(sides.begin(), sides.end());
    taken_ = sides_taken(*model_, sides);
    json_["sizes_tried"] = sides;
    json_["sizes_taken"] = taken_;
    require(!taken_.empty(), flags.model,
            "cannot be run on square images of any of the usual sizes, --size "
            "names another");
    check_images();
    check_methods();
  }

  const Json& json() const { return json_; }

 private:
  void describe(const std::string& constants) {
    const Classifier& model = *model_;
    json_["model"] = flags_.model;
    json_["format"] = name_of(network_format(flags_.model));
    json_["engine"] = model.engine();
    json_["classes"] = model.classes();
    json_["channels"] = model.channels();
    json_["parameters"] =
        model.source().body.numel() + model.source().affine.numel();
    json_["norm_layers"] = model.norm_layers().size();
    json_["norm_kinds"] = count_norm_kinds(model);
    json_["adapts"] = model.source().affine.numel();
    json_["frozen"] = frozen_by_default(model);
    json_["normalisation"] = {{"mean", model.normalisation().mean},
                              {"std", model.normalisation().std},
                              {"from", constants}};
    if (const auto stored = stored_size(flags_.model))
      json_["size"] = *stored;
    else
      json_["size"] = nullptr;
    json_["warnings"] = Json::array();
    if (constants == "none")
      warn(
          "nothing says how inputs are normalised: give --mean and --std "
          "(0 and 1 if the network does it itself), pixels are taken as they "
          "are here");
  }

  void warn(const std::string& sentence) {
    json_["warnings"].push_back(sentence);
  }

  void check_images() {
    const auto data = open_labelled(flags_, taken_);
    if (!data) return;
    const auto indices = spread(data->size(), flags_.limit);
    LabelledImages all = data->get(indices);
    if (!flags_.input.empty())
      all.images = with_channels(all.images, model_->channels());
    const TensorDataset chosen(all, data->classes(), "images");
    const EvaluateResult result = evaluate(*model_, chosen, {});
    json_["images"] = result.samples;
    json_["correct"] = result.correct;
    json_["accuracy"] = result.accuracy();
    tried_ = all.images.slice(0, 0, kTriedImages);
    const InputMoments moments = input_moments(*model_, all.images);
    json_["input_mean"] = moments.mean;
    json_["input_std"] = moments.std;
    const std::string complaint = complaint_about(moments);
    if (!complaint.empty()) warn(complaint);
    const auto chance = 100.0 / static_cast<double>(model_->classes());
    if (result.accuracy() < 1.5 * chance)
      warn(
          "the accuracy is about that of guessing: labels, classes or "
          "normalisation are not those of the training");
  }

  void check_methods() {
    if (!tried_.defined()) {
      const int64_t side = flags_.size > 0
                               ? flags_.size
                               : stored_size(flags_.model).value_or(taken_[0]);
      tried_ = at::rand({kTriedImages, model_->channels(), side, side});
    }
    json_["methods"] = Json::array();
    for (const MethodFit& fit : try_methods(model_, tried_))
      json_["methods"].push_back({{"name", fit.name},
                                  {"label", fit.label},
                                  {"fits", fit.fits},
                                  {"note", fit.note}});
  }

  CheckFlags flags_;
  std::shared_ptr<const Classifier> model_;
  std::vector<int64_t> taken_;
  at::Tensor tried_;
  Json json_;
};

std::string listed(const Json& items, size_t most) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most; ++i)
    text +=
        (i == 0 ? "" : ", ") +
        (items[i].is_string() ? items[i].get<std::string>() : items[i].dump());
  if (items.size() > most)
    text += " and " + std::to_string(items.size() - most) + " more";
  // Names come from a file: control characters must not reach the terminal.
  for (char& c : text)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = '?';
  return text;
}

std::string sizes_text(const Json& check) {
  const Json& taken = check["sizes_taken"];
  std::string text = taken.size() == check["sizes_tried"].size()
                         ? "any (tried " + listed(taken, 16) + ")"
                         : listed(taken, 16) + " (of " +
                               listed(check["sizes_tried"], 16) + ")";
  if (!check["size"].is_null())
    text += "; the file says " + check["size"].dump();
  return text;
}

std::string norms_text(const Json& check) {
  std::string text;
  for (const auto& [kind, count] : check["norm_kinds"].items())
    text += (text.empty() ? "" : ", ") + count.dump() + " " + kind;
  return text;
}

void print_text(const Json& check) {
  const auto line = [](const char* name, const std::string& text) {
    std::printf("%-12s %s\n", name, text.c_str());
  };
  constexpr size_t kMostNamed = 6;
  const Json& constants = check["normalisation"];
  line("model", check["model"].get<std::string>() + " (" +
                    check["format"].get<std::string>() + ", engine " +
                    check["engine"].get<std::string>() + ")");
  line("network", check["classes"].dump() + " classes, " +
                      check["channels"].dump() + " channels, " +
                      check["parameters"].dump() + " parameters");
  line("norm layers", norms_text(check));
  line("adapts", check["adapts"].dump() + " scales and shifts of " +
                     check["norm_layers"].dump() + " layers");
  line("frozen", check["frozen"].empty() ? "none by default"
                 : check["frozen"].size() == 1
                     ? listed(check["frozen"], 1) + " (SAR, SoTTA)"
                     : std::to_string(check["frozen"].size()) +
                           " layers (SAR, SoTTA): " +
                           listed(check["frozen"], kMostNamed));
  line("image sizes", sizes_text(check));
  line("normalise", "mean " + listed(constants["mean"], 8) + ", std " +
                        listed(constants["std"], 8) + " (from: " +
                        constants["from"].get<std::string>() + ")");
  if (check.contains("accuracy")) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "%.2f %% (%lld of %lld) without adaptation",
                  check["accuracy"].get<double>(),
                  static_cast<long long>(check["correct"].get<int64_t>()),
                  static_cast<long long>(check["images"].get<int64_t>()));
    line("accuracy", text);
  }
  for (const Json& method : check["methods"]) {
    const auto note = method["note"].get<std::string>();
    const bool fits = method["fits"].get<bool>();
    line(method["name"].get<std::string>().c_str(),
         fits && note.empty() ? "fits"
         : fits               ? "fits, with source images: " + note
                              : "does not fit: " + note);
  }
  for (const Json& warning : check["warnings"])
    line("warning", warning.get<std::string>());
}

void run_check(const CheckFlags& flags) {
  check_flags(flags);
  use_threads(flags.threads);
  explain_out_of_memory("a smaller --size or --limit needs less", [&] {
    const Report report(flags);
    if (flags.json)
      std::cout << json_text(report.json(), 2) << "\n";
    else
      print_text(report.json());
  });
}

}  // namespace

void add_model(CLI::App& program) {
  auto* command = program.add_subcommand("model", "look into a network");
  auto* check = command->add_subcommand(
      "check", "what adapts, which methods fit, accuracy, normalisation");
  auto flags = std::make_shared<CheckFlags>();
  check->add_option("model", flags->model, "safetensors, TorchScript or .pt2")
      ->required();
  check->add_option("--input", flags->input,
                    "labelled images: a folder with one folder per class, in "
                    "the order of the classes");
  check->add_option("--dataset", flags->dataset,
                    "or a dataset's test images, see `sotta data`; its means "
                    "if the file has none");
  add_data_flag(*check, flags->data);
  check->add_option("--mean", flags->mean,
                    "normalise inputs by these means, \"0.49,0.48,0.45\" [as "
                    "the file says]");
  check->add_option("--std", flags->std, "and these standard deviations");
  check->add_option("--size", flags->size,
                    "side of the images [as the file says]");
  check->add_option("--limit", flags->limit, "the most labelled images")
      ->capture_default_str();
  check->add_option("--threads", flags->threads, "0: all cores")
      ->capture_default_str();
  check->add_flag("--json", flags->json, "print JSON");
  check->callback([check, flags] {
    require_effect(!flags->input.empty() || !flags->dataset.empty(),
                   given_flags(*check), {"--limit"}, "--input or --dataset");
    require_effect(!flags->dataset.empty(), given_flags(*check), {"--data"},
                   "--dataset");
    run_check(*flags);
  });
  command->require_subcommand(1);
}

}  // namespace sotta::cli
