#include <iostream>

#include "sotta/core/version.h"

#include "commands.h"

namespace sotta::cli {

void add_info(CLI::App& program) {
  auto* command =
      program.add_subcommand("info", "versions, devices and optional parts");
  command->callback([] { std::cout << "sotta " << version() << "\n"; });
}

}  // namespace sotta::cli
