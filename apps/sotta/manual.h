#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <CLI/App.hpp>

namespace sotta::cli {

// Man pages of a program and of its verbs, in roff, by file name: "sotta.1",
// "sotta-adapt.1". Verbs of verbs stand on the pages of these. Everything comes
// from the parser, so that a page has the flags that the program has. Verbs
// without a group (for the program itself) have no page.
std::map<std::string, std::string> man_pages(const CLI::App& program,
                                             const std::string& version);

// Scripts that let a shell complete verbs and flags, and files after them.
std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

// Writes all of these: FOLDER/man1/*.1, FOLDER/sotta.bash, FOLDER/_sotta.
// Throws Error(kIo) if it cannot.
void write_manual(const CLI::App& program, const std::string& version,
                  const std::filesystem::path& folder);

}  // namespace sotta::cli
