#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "sotta/core/version.h"

#include "commands.h"
#include "manual.h"

namespace sotta::cli {

void add_write_manual(CLI::App& program) {
  auto* command = program.add_subcommand(
      "write-manual", "man pages and completions of all verbs");
  command->group("");  // for the build: not in the help
  auto folder = std::make_shared<std::string>();
  command->add_option("folder", *folder, "where they go")->required();
  command->callback(
      [&program, folder] { write_manual(program, version(), *folder); });
}

}  // namespace sotta::cli
