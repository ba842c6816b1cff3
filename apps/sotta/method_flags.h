#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/adapt/make_adapter.h"

namespace sotta::cli {

// How `adapt` and `serve` are to adapt.
struct MethodFlags {
  std::string method = "screened_sotta";
  std::string preset = "clean";
  std::vector<std::string> changes;  // "min_confidence=0.9"
  int64_t window = 64;
  int64_t seed = 0;
  GuardOptions guard;
  std::set<std::string> given;  // flags on the command line
};

void add_method_flags(CLI::App& command, MethodFlags& flags);

// Throws Error(kInvalid) for what is out of range whatever the network is, and
// for a flag of guards that are off.
void check_method_flags(const MethodFlags& flags);

// The "name=value" pairs of --set, each read as the type the method's option
// has. Throws Error(kInvalid) for an unknown name and a value of another type.
OptionMap parse_method_changes(const MethodFlags& flags, int64_t classes);

}  // namespace sotta::cli
