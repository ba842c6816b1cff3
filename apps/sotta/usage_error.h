#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace sotta::cli {

// Throws Error(kInvalid) for a flag that has no value though it needs one. The
// parser would take the next word for it, whatever that is.
void check_values(const CLI::App& program,
                  const std::vector<std::string>& words);

// What is wrong with the command line, as one sentence: the verb, the flags
// that are unknown in the order they were typed, each with the nearest known
// one, or else what the parser found.
std::string usage_problem(const CLI::App& program,
                          const CLI::ParseError& error);

// What is wrong with the value of one option, without its name.
std::string value_problem(const CLI::Option& option,
                          const CLI::ParseError& error);

}  // namespace sotta::cli
