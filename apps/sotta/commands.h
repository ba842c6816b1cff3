#pragma once

#include <CLI/App.hpp>

namespace sotta::cli {

// One function per subcommand, in commands/<name>.cpp: adds the subcommand, its
// flags and the callback that does the work to the program's parser. A callback
// throws sotta::Error; main() turns it into a sentence and an exit code.
void add_adapt(CLI::App& program);
void add_bench(CLI::App& program);
void add_data(CLI::App& program);
void add_demo(CLI::App& program);
void add_eval(CLI::App& program);
void add_corrupt(CLI::App& program);
void add_convert(CLI::App& program);
void add_report(CLI::App& program);
void add_serve(CLI::App& program);
void add_probe_network(CLI::App& program);
void add_info(CLI::App& program);
void add_model(CLI::App& program);
void add_streams(CLI::App& program);
void add_token(CLI::App& program);
void add_train(CLI::App& program);
void add_write_manual(CLI::App& program);

}  // namespace sotta::cli
