#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"
#include "sotta/data/dataset.h"
#include "sotta/data/image.h"
#include "sotta/gpu/device.h"

#include "commands.h"
#include "core/atomic_file.h"
#include "core/checks.h"
#include "core/output_place.h"
#include "corrupt/contact_sheet.h"
#include "corrupt/write_corrupted.h"
#include "data/formats/npy.h"
#include "flags.h"
#include "json_text.h"
#include "process.h"
#include "progress_bar.h"
#include "standard_streams.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CorruptFlags {
  std::string dataset;
  std::string split = "test";
  std::vector<std::string> kinds = {"common"};
  std::string severity = "all";
  int64_t limit = 0;
  std::string out;
  std::string sheet;
  std::string data;
  std::string device = "cpu";
  int64_t threads = 0;
  CorruptionOptions options;
  std::set<std::string> given;
};

std::vector<std::string> chosen_kinds(const std::vector<std::string>& words) {
  const auto known = corruption_names();
  std::vector<std::string> kinds;
  for (const std::string& word : words) {
    const auto meant = word == "all"      ? known
                       : word == "common" ? common_corruption_names()
                                          : std::vector{word};
    for (const std::string& kind : meant) {
      require_one_of("corruption", kind, known);
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
        kinds.push_back(kind);
    }
  }
  return kinds;
}

std::vector<int64_t> chosen_severities(const std::string& word) {
  if (word == "all") return {1, 2, 3, 4, 5};
  const auto severity =
      std::get<int64_t>(parse_option("--severity", word, int64_t{0}));
  check_severity(severity);
  return {severity};
}

// All that the files of a folder have in common. It is written before the first
// of them, so that a later run knows whether to go on with them.
class FolderSettings {
 public:
  FolderSettings(const CorruptFlags& flags, const CorruptedFile& file)
      : settings_{{"dataset", flags.dataset},
                  {"split", flags.split},
                  {"images", file.images},
                  {"severities", file.severities},
                  {"seed", file.options.seed},
                  {"frost_dir", file.options.frost_dir},
                  {"jpeg85", file.options.jpeg85}} {}

  // Throws Error(kInvalid) if the folder was filled with other settings.
  void claim(const fs::path& folder) const {
    const fs::path path = folder / "settings.json";
    if (fs::exists(path)) return compare(path);
    for (const auto& entry : fs::directory_iterator(folder))
      require(entry.path().extension() != ".npy", entry.path().string(),
              "lies in a folder without a settings.json, so it was not made "
              "here; choose an empty folder");
    const std::string text = json_text(settings_, 2) + "\n";
    AtomicFile file(path);
    file.write(text.data(), text.size());
    file.commit_durably();
  }

 private:
  void compare(const fs::path& path) const {
    if (!fs::is_regular_file(path))
      fail(ErrorKind::kBadFormat, path.string(), "expected a file");
    std::ifstream file(path);
    const Json found = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!found.is_object())
      fail(ErrorKind::kBadFormat, path.string(), "expected a JSON object");
    for (const auto& [name, value] : settings_.items()) {
      const Json other = found.contains(name) ? found[name] : Json();
      require(json_text(other) == json_text(value), path.string(),
              "the folder was filled with " + name + " " + json_text(other) +
                  ", now it is " + json_text(value) +
                  "; choose another folder");
    }
  }

  Json settings_;
};

// A file under its final name is whole; its shape is looked at all the same.
bool already_there(const fs::path& path, const std::vector<int64_t>& shape) {
  if (!fs::exists(path)) return false;
  require(read_npy(path).shape == shape, path.string(),
          "has another shape than these settings give; remove it");
  return true;
}

void write_files(const CorruptFlags& flags, const Dataset& clean,
                 const std::vector<std::string>& kinds, CorruptedFile file) {
  catch_interrupts();
  const fs::path folder = flags.out;
  make_folder(folder);
  FolderSettings(flags, file).claim(folder);
  const fs::path labels = folder / "labels.npy";
  const auto shape = corrupted_shape(clean, file);
  if (!already_there(labels, {shape[0]}))
    write_corrupted_labels(clean, file, labels);

  ProgressBar bar("images");
  int64_t before = 0;
  for (const std::string& kind : kinds) {
    const fs::path path = folder / (kind + ".npy");
    file.options.kind = kind;
    const auto total = static_cast<int64_t>(kinds.size()) * shape[0];
    const bool kept = already_there(path, shape);
    const bool done =
        kept || write_corrupted(
                    clean, file, parse_device(flags.device), path,
                    [&](const Progress& progress) {
                      bar.show({before + progress.done, total, progress.note});
                      return !interrupted();
                    });
    bar.finish();
    if (!done)
      throw CLI::RuntimeError(
          "interrupted; the finished files stay, and the same command goes on",
          1);
    std::cout << path.string() << (kept ? ": kept, made before\n" : "\n");
    flush_output();
    before += shape[0];
  }
}

void write_sheet(const CorruptFlags& flags, const Dataset& clean,
                 const std::vector<std::string>& kinds,
                 const CorruptedFile& file) {
  ContactSheet sheet;
  sheet.kinds = kinds;
  sheet.severities = file.severities;
  sheet.options = file.options;
  // Ten columns, whether they are severities or images.
  const auto columns = static_cast<int64_t>(file.severities.size());
  sheet.images = std::min<int64_t>(file.images, 10 / columns);
  write_png(flags.sheet, make_contact_sheet(clean, sheet));
  std::cout << flags.sheet << ": rows from the top: clean";
  for (const std::string& kind : kinds)
    std::cout << ", " << kind;
  std::cout << "\n";
}

void run(const CorruptFlags& flags) {
  require(!flags.out.empty() || !flags.sheet.empty(), "sotta corrupt",
          "expected --out FOLDER, --sheet FILE.png or both");
  const auto kinds = chosen_kinds(flags.kinds);
  CorruptedFile file;
  file.options = flags.options;
  file.severities = chosen_severities(flags.severity);
  // Beside the files of --out it must not be one of them.
  require(flags.sheet.empty() || fs::path(flags.sheet).extension() == ".png",
          "--sheet", "expected a name that ends in .png, got " + flags.sheet);
  require(!flags.out.empty() || parse_device(flags.device).is_cpu(), "--device",
          "has no effect without --out, a sheet is made on the CPU");
  require_effect(std::any_of(kinds.begin(), kinds.end(), takes_photographs),
                 flags.given, {"--frost-dir"}, "the kind frost");
  require_at_least("--limit", flags.limit, 0);

  use_threads(flags.threads);
  const auto clean =
      open_dataset(flags.dataset, data_root(flags.data), flags.split);
  file.images =
      flags.limit == 0 ? clean->size() : std::min(flags.limit, clean->size());
  if (!flags.sheet.empty()) write_sheet(flags, *clean, kinds, file);
  if (!flags.out.empty()) write_files(flags, *clean, kinds, file);
}

}  // namespace

void add_corrupt(CLI::App& program) {
  auto* command = program.add_subcommand(
      "corrupt", "corrupted copies of a dataset, as CIFAR-10-C has them");
  auto flags = std::make_shared<CorruptFlags>();
  add_dataset_flags(*command, flags->dataset, flags->data);
  command
      ->add_option("--kind", flags->kinds,
                   "names from `sotta info`, common (the 15) or all (19)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--severity", flags->severity, "1 to 5, or all")
      ->capture_default_str();
  command->add_option("--out", flags->out, "folder for KIND.npy, labels.npy");
  command->add_option("--sheet", flags->sheet,
                      "PNG file with a few images of every kind");
  command->add_option("--limit", flags->limit, "first images only; 0: all")
      ->capture_default_str();
  command
      ->add_option("--seed", flags->options.seed,
                   "another one draws other noise, angles, textures")
      ->capture_default_str();
  command->add_option("--frost-dir", flags->options.frost_dir,
                      "folder with the frost photographs");
  command
      ->add_option("--jpeg85", flags->options.jpeg85,
                   "store large images as JPEG 85, as ImageNet-C does")
      ->capture_default_str();
  command->add_option("--split", flags->split, "test or train")
      ->capture_default_str();
  add_device_flags(*command, flags->device, flags->threads);
  command->callback([command, flags] {
    flags->given = given_flags(*command);
    run(*flags);
  });
}

}  // namespace sotta::cli
