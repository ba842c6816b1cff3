#include "config_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "config_entries.h"
#include "flags.h"
#include "usage_error.h"

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

void set_option(CLI::Option& option, const ConfigEntry& entry,
                const std::string& subject) {
  try {
    for (const auto& value : entry.values)
      option.add_result(value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::kInvalid, subject + ": " + entry.key,
         value_problem(option, error));
  }
}

}  // namespace

void read_config_file(const std::filesystem::path& file, CLI::App& command) {
  const auto known = known_keys(command);
  std::map<std::string, ConfigEntry> set;  // by the flag's name
  for (const ConfigEntry& entry : read_config(file)) {
    const std::string subject = line_subject(file.string(), entry.line);
    const std::string name = current_name(command, flag_name(entry.key));
    require_one_of(subject, name, known);
    const auto [first, is_new] = set.emplace(name, entry);
    require(is_new, subject,
            entry.key + " is set in line " +
                std::to_string(first->second.line) + " already, as " +
                first->second.key);
    CLI::Option& option = *command.get_option("--" + name);
    if (option.count() == 0) set_option(option, entry, subject);
  }
}

}  // namespace sotta::cli
