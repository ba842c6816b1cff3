#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sotta::cli {

// Runs a program from PATH in a folder and waits for it; no shell reads the
// arguments. It gets no input, its output goes to a log file, and it is killed
// when this process is.
//
// Throws Error: kNotFound if there is no such program, kIo if it fails, with
// what it complained of, or if the user interrupts it.
void run_child(const std::vector<std::string>& command,
               const std::filesystem::path& folder,
               const std::filesystem::path& log);

}  // namespace sotta::cli
