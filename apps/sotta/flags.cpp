#include "flags.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta::cli {
namespace {

// Flags that were renamed: what they were called once, and are called now.
const std::map<std::string, std::string> kRenamed = {{"replay", "cuda-graphs"}};

// Whether the word is the flag, alone or with its value.
bool names_flag(const std::string& word, const std::string& flag) {
  return word.substr(0, word.find('=')) == flag;
}

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

// "0.1" and "0.10", too.
bool are_same_value(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& text, double& value) {
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0';
  };
  double first = 0, second = 0;
  return a == b ||
         (is_number(a, first) && is_number(b, second) && first == second);
}

}  // namespace

std::set<std::string> changed_flags(const CLI::App& command) {
  std::set<std::string> changed;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 &&
        !are_same_value(option->results().front(), option->get_default_str()))
      changed.insert(option->get_name());
  return changed;
}

std::string current_name(const CLI::App& command, const std::string& name) {
  const auto found = kRenamed.find(name);
  if (found == kRenamed.end()) return name;
  const auto* flag = command.get_option_no_throw("--" + found->second);
  return flag == nullptr ? name : found->second;
}

std::vector<std::string> with_current_names(const CLI::App& program,
                                            std::vector<std::string> words) {
  if (words.empty()) return words;
  const auto verbs = program.get_subcommands(
      [&](const CLI::App* app) { return app->get_name() == words[0]; });
  if (verbs.empty()) return words;
  for (const auto& [once, unused] : kRenamed) {
    const std::string old = "--" + once;
    const std::string now = "--" + current_name(*verbs.front(), once);
    const auto is_given = [&](const std::string& flag) {
      return std::any_of(
          words.begin(), words.end(),
          [&](const std::string& word) { return names_flag(word, flag); });
    };
    if (now == old || !is_given(old)) continue;
    require(!is_given(now), old,
            "is what " + now + " was called once, expected one of the two");
    for (std::string& word : words)
      if (names_flag(word, old)) word.replace(0, old.size(), now);
  }
  return words;
}

void check_numbers(CLI::App& program) {
  for (CLI::App* command :
       program.get_subcommands([](const CLI::App*) { return true; })) {
    check_numbers_of(*command);
    check_numbers(*command);
  }
}

}  // namespace sotta::cli
