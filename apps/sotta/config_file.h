#pragma once

#include <filesystem>

#include <CLI/App.hpp>

namespace sotta::cli {

// Sets the options of a command from a TOML file: keys are the names of its
// flags, with dashes or underscores, or what the flags were called once (see
// current_name()). A flag that was given on the command line
// wins over the file.
//
// Throws Error as read_config() does, and kInvalid for an unknown key, with the
// nearest known one, for a flag that is set twice in two spellings, and for
// a value that its flag would refuse. Messages name the line.
void read_config_file(const std::filesystem::path& file, CLI::App& command);

}  // namespace sotta::cli
