#include "program.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/core/options.h"
#include "sotta/core/version.h"

#include "commands.h"
#include "core/allocator.h"
#include "flags.h"
#include "gpu/out_of_memory.h"
#include "standard_streams.h"
#include "usage_error.h"

namespace {

// Wrong usage or input is the caller's to mend (2); the rest is not (1).
int exit_code(sotta::ErrorKind kind) {
  return kind == sotta::ErrorKind::kIo ? 1 : 2;
}

// Whether the path itself is at fault: a loop of links, a file where a folder
// should be, a name that is too long.
bool names_nothing_usable(const std::error_code& code) {
  using std::errc;
  return code == errc::too_many_symbolic_link_levels ||
         code == errc::no_such_file_or_directory ||
         code == errc::not_a_directory || code == errc::is_a_directory ||
         code == errc::filename_too_long;
}

// CLI11 would only say that some verb is required.
void check_verb(const CLI::App& program, const std::string& verb) {
  std::vector<std::string> verbs;
  for (const auto* known :
       program.get_subcommands([](const CLI::App*) { return true; })) {
    if (known->get_name() == verb) return;
    if (!known->get_group().empty()) verbs.push_back(known->get_name());
  }
  sotta::require_one_of("verb", verb, verbs);
}

void add_verbs(CLI::App& program) {
  sotta::cli::add_demo(program);
  sotta::cli::add_data(program);
  sotta::cli::add_eval(program);
  sotta::cli::add_adapt(program);
  sotta::cli::add_train(program);
  sotta::cli::add_corrupt(program);
  sotta::cli::add_convert(program);
  sotta::cli::add_model(program);
  sotta::cli::add_bench(program);
  sotta::cli::add_report(program);
  sotta::cli::add_serve(program);
  sotta::cli::add_streams(program);
  sotta::cli::add_token(program);
  sotta::cli::add_info(program);
  sotta::cli::add_probe_network(program);
  sotta::cli::add_write_manual(program);
  sotta::cli::check_numbers(program);
}

// "help VERB" means what "VERB --help" does.
std::vector<std::string> without_help_verb(std::vector<std::string> words) {
  if (words.empty() || words[0] != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

// Reads the command line and does what it says; prints help and version too.
void run(CLI::App& program, int argc, char** argv) {
  try {
    auto words = without_help_verb({argv + 1, argv + argc});
    if (!words.empty() && words[0].rfind('-', 0) != 0)
      check_verb(program, words[0]);
    words = sotta::cli::with_current_names(program, std::move(words));
    sotta::cli::check_values(program, words);
    std::reverse(words.begin(), words.end());  // as the parser takes them
    // Those that know which flag to turn down say so themselves.
    sotta::explain_out_of_memory("fewer images at a time need less",
                                 [&] { program.parse(std::move(words)); });
  } catch (const CLI::RuntimeError&) {
    throw;
  } catch (const CLI::ParseError& error) {
    const bool is_answer =
        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (!is_answer)
      throw sotta::Error(sotta::ErrorKind::kInvalid,
                         sotta::cli::usage_problem(program, error));
    program.exit(error);
  }
}

int complain(const std::string& problem, int code) {
  std::cerr << "sotta: " << problem << "\n";
  return code;
}

}  // namespace

int sotta::cli::run_program(int argc, char** argv) {
  prepare_standard_streams();
  sotta::keep_freed_memory();
  sotta::set_log_sink([](sotta::LogLevel level, const std::string& message) {
    if (level == sotta::LogLevel::kWarning)
      std::cerr << "sotta: " << message << "\n";
  });
  CLI::App program("Robust test-time adaptation of image classifiers.",
                   "sotta");
  program.set_version_flag("--version", sotta::version());
  program.require_subcommand(1);
  add_verbs(program);

  try {
    run(program, argc, argv);
    sotta::cli::flush_output();
    return 0;
  } catch (const CLI::RuntimeError& error) {
    return complain(error.what(), error.get_exit_code());
  } catch (const sotta::Error& error) {
    return complain(error.what(), exit_code(error.kind()));
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(error.path1().string() + ": " + error.code().message(),
                    names_nothing_usable(error.code()) ? 2 : 1);
  } catch (const std::exception& error) {
    return complain("internal error: " + sotta::first_line(error), 1);
  }
}
