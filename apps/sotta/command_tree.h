#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace sotta::cli {

// The verbs that people may use, in the order of the help.
inline std::vector<const CLI::App*> verbs_of(const CLI::App& command) {
  return command.get_subcommands(
      [](const CLI::App* verb) { return !verb->get_group().empty(); });
}

inline bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// Flags and positionals, in the order of the help.
inline std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* option) { return !option->get_group().empty(); });
}

// "-h" and "--help"; a positional has none.
inline std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

}  // namespace sotta::cli
