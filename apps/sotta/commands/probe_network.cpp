#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "sotta/core/error.h"

#include "commands.h"
#include "models/network_file.h"
#include "network_probe.h"
#include "process.h"

namespace sotta::cli {
namespace {

struct ProbeFlags {
  std::string file, mean, std;
};

// Ends a network that never ends; leaves no core file of one that crashes, and
// no handler that would hide it.
void prepare_for_the_worst() {
  const rlimit time = {kProbeSeconds, kProbeSeconds};
  setrlimit(RLIMIT_CPU, &time);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, SIG_DFL);
}

// Fails if the network cannot be loaded. When it runs, that this process ends
// by itself is all that is asked.
int probe(const ProbeFlags& flags) try {
  prepare_for_the_worst();
  use_threads(1);
  LoadOptions options;
  options.normalisation = Normalisation{parse_number_list(flags.mean, "--mean"),
                                        parse_number_list(flags.std, "--std")};
  const auto network = load_network_file(flags.file, options);
  try {
    try_network(*network);
  } catch (const std::exception&) {
  }
  return 0;
} catch (const Error& error) {
  std::cerr << "sotta: " << error.what() << std::endl;
  return 2;
} catch (const std::exception& error) {
  std::cerr << "sotta: " << flags.file << ": " << first_line(error)
            << std::endl;
  return 2;
}

}  // namespace

void add_probe_network(CLI::App& program) {
  auto* command = program.add_subcommand(
      "probe-network", "load and run a network, to see whether it crashes");
  command->group("");  // for the program itself: not in the help
  auto flags = std::make_shared<ProbeFlags>();
  command->add_option("file", flags->file, "TorchScript or .pt2")->required();
  command->add_option("--mean", flags->mean, "of its inputs")->required();
  command->add_option("--std", flags->std, "likewise")->required();
  // At once: what a damaged network left of the process is not to be touched.
  command->callback([flags] { std::_Exit(probe(*flags)); });
}

}  // namespace sotta::cli
