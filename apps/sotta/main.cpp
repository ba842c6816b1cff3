#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/core/allocator.h"
#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/core/options.h"
#include "sotta/core/version.h"
#include "sotta/nn/out_of_memory.h"

#include "commands.h"

namespace {

// Wrong usage or input is the caller's to mend (2); the rest is not (1).
int exit_code(sotta::ErrorKind kind) {
  return kind == sotta::ErrorKind::kIo ? 1 : 2;
}

// CLI11 would only say that some verb is required.
void check_verb(const CLI::App& program, const std::string& verb) {
  std::vector<std::string> verbs;
  for (const auto* known :
       program.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(known->get_name());
  sotta::require_one_of("verb", verb, verbs);
}

}  // namespace

int main(int argc, char** argv) {
  sotta::keep_freed_memory();
  sotta::set_log_sink([](sotta::LogLevel level, const std::string& message) {
    if (level == sotta::LogLevel::kWarning)
      std::cerr << "sotta: " << message << "\n";
  });
  CLI::App program("Robust test-time adaptation of image classifiers.",
                   "sotta");
  program.set_version_flag("--version", sotta::version());
  program.require_subcommand(1);
  sotta::cli::add_demo(program);
  sotta::cli::add_data(program);
  sotta::cli::add_eval(program);
  sotta::cli::add_adapt(program);
  sotta::cli::add_train(program);
  sotta::cli::add_corrupt(program);
  sotta::cli::add_convert(program);
  sotta::cli::add_bench(program);
  sotta::cli::add_report(program);
  sotta::cli::add_info(program);

  try {
    if (argc > 1 && argv[1][0] != '-') check_verb(program, argv[1]);
    // Those that know which flag to turn down say so themselves.
    sotta::explain_out_of_memory("fewer images at a time need less",
                                 [&] { program.parse(argc, argv); });
    return 0;
  } catch (const CLI::RuntimeError& error) {
    std::cerr << "sotta: " << error.what() << "\n";
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const sotta::Error& error) {
    std::cerr << "sotta: " << error.what() << "\n";
    return exit_code(error.kind());
  } catch (const std::exception& error) {
    std::cerr << "sotta: internal error: " << sotta::first_line(error) << "\n";
    return 1;
  }
}
