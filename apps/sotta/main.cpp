#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "sotta/core/allocator.h"
#include "sotta/core/error.h"
#include "sotta/core/version.h"

#include "commands.h"

namespace {

// Wrong usage or input is the caller's to mend (2); the rest is not (1).
int exit_code(sotta::ErrorKind kind) {
  return kind == sotta::ErrorKind::kIo ? 1 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  sotta::keep_freed_memory();
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
    program.parse(argc, argv);
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
    std::cerr << "sotta: internal error: " << error.what() << "\n";
    return 1;
  }
}
