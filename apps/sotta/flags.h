#pragma once

#include <set>
#include <string>

#include <CLI/App.hpp>

namespace sotta::cli {

// Adds a flag per field of an options struct, named as the field with dashes
// for underscores, its default shown in the help. Fields in `without` get none.
template <class Options>
void add_option_flags(CLI::App& command, Options& options,
                      const std::set<std::string>& without = {}) {
  options.visit([&](const char* name, auto& field, const char* help) {
    if (without.count(name) > 0) return;
    std::string flag = std::string("--") + name;
    for (char& letter : flag)
      if (letter == '_') letter = '-';
    command.add_option(flag, field, help)->capture_default_str();
  });
}

}  // namespace sotta::cli
