#include "config_file.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta::cli {
namespace {

// Flags that speak of the call, not of the work.
const std::set<std::string> kNotInFiles = {"help", "config"};

std::string flag_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::vector<std::string> known_keys(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames())
      if (kNotInFiles.count(name) == 0) keys.push_back(name);
  return keys;
}

std::vector<CLI::ConfigItem> read_items(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    fail(ErrorKind::kNotFound, file.string(), "expected a configuration file");
  return CLI::ConfigTOML().from_config(in);
}

}  // namespace

void read_config_file(const std::filesystem::path& file, CLI::App& command) {
  const auto known = known_keys(command);
  for (const auto& item : read_items(file)) {
    require(item.parents.empty(), file.string(),
            "expected keys without sections, got " + item.fullname());
    const std::string name = flag_name(item.name);
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail_unknown_name(file.string(), item.name, known);
    CLI::Option* option = command.get_option("--" + name);
    if (option->count() > 0) continue;
    try {
      for (const auto& value : item.inputs)
        option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      fail(ErrorKind::kInvalid, file.string() + ": " + item.name, error.what());
    }
  }
}

}  // namespace sotta::cli
