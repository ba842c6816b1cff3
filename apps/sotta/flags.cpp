#include "flags.h"

#include <cmath>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta::cli {
namespace {

// Reads a flag's text as the type that `like` holds, and gives what is wrong
// with it; nothing if it can be read. CLI11 alone takes "99999999999999999999"
// for the largest number there is, and "010" for eight.
std::string read_number(std::string& text, const OptionValue& like) {
  try {
    const OptionValue value = parse_option("", text, like);
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && !std::isfinite(*number))
      return "expected a finite number, got " + text;
    if (number == nullptr) text = to_text(value);
    return "";
  } catch (const Error& error) {
    return std::string(error.what()).substr(2);  // without the empty subject
  }
}

void check_numbers_of(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    OptionValue like;
    if (option->get_type_name() == "INT")
      like = int64_t{0};
    else if (option->get_type_name() == "FLOAT")
      like = 0.0;
    else
      continue;
    option->transform(CLI::Validator(
        [like](std::string& text) { return read_number(text, like); }, ""));
  }
}

}  // namespace

void check_numbers(CLI::App& program) {
  for (CLI::App* command :
       program.get_subcommands([](const CLI::App*) { return true; })) {
    check_numbers_of(*command);
    check_numbers(*command);
  }
}

}  // namespace sotta::cli
