#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <CLI/App.hpp>

namespace sotta::cli {

// Adds a flag per field of an options struct, named as the field with dashes
// for underscores, its default shown in the help. Fields in `without` get none.
template <class Options>
void add_option_flags(CLI::App& command, Options& options,
                      const std::set<std::string>& without = {}) {
  options.visit([&](const char* name, auto& field, const char* help) {
    if (without.count(name) > 0) return;
    std::string flag = std::string("--") + name;
    for (char& letter : flag)
      if (letter == '_') letter = '-';
    command.add_option(flag, field, help)->capture_default_str();
  });
}

// Flags that several verbs have.
inline void add_data_flag(CLI::App& command, std::string& data) {
  command.add_option("--data", data, "data root [SOTTA_DATA, else ./data]");
}

inline void add_dataset_flags(CLI::App& command, std::string& dataset,
                              std::string& data) {
  command.add_option("--dataset", dataset, "see `sotta data`")->required();
  add_data_flag(command, data);
}

inline void add_device_flags(CLI::App& command, std::string& device,
                             int64_t& threads) {
  command.add_option("--device", device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command.add_option("--threads", threads, "0: all cores")
      ->capture_default_str();
}

inline void add_precision_flag(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "fp32, tf32 or bf16")
      ->capture_default_str();
}

}  // namespace sotta::cli
