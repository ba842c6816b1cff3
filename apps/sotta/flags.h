#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "sotta/core/error.h"

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

// The flags on the command line, as "--seed". Taken before a configuration file
// is read: what a file sets for other runs too may be without effect in one.
inline std::set<std::string> given_flags(const CLI::App& command) {
  std::set<std::string> given;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option->get_name());
  return given;
}

// The flags, as "--seed", whose first value is another than the default: of a
// configuration file for one command. What a file says as it is anyhow, as one
// with all keys does, need not have an effect.
std::set<std::string> changed_flags(const CLI::App& command);

// Throws Error(kInvalid) if one of these flags was given although it has no
// effect, and says what it would need.
inline void require_effect(bool has_effect, const std::set<std::string>& given,
                           const std::vector<std::string>& flags,
                           const std::string& needs) {
  for (const std::string& flag : flags)
    require(has_effect || given.count(flag) == 0, flag,
            "has no effect without " + needs);
}

// The name that a flag has now: "cuda-graphs" for "replay", which it was called
// once, in a command that has the flag; any other name as it is.
std::string current_name(const CLI::App& command, const std::string& name);

// The command line, the verb first, with every flag by the name it has now.
// Throws Error(kInvalid) for a flag that is given by both of its names.
std::vector<std::string> with_current_names(const CLI::App& program,
                                            std::vector<std::string> words);

// Lets every flag that takes a number refuse what is none of its type, or too
// large for it. To be called when all flags are there.
void check_numbers(CLI::App& program);

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
  command
      .add_option("--precision", precision,
                  "fp32, tf32 (GPUs) or bf16 (GPUs; a CPU gains "
                  "with AVX512-BF16)")
      ->capture_default_str();
}

}  // namespace sotta::cli
