#include "usage_error.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"

#include "core/nearest_name.h"

namespace sotta::cli {
namespace {

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

// "--modle=x" -> "modle"
std::string bare_name(const std::string& word) {
  const auto begin = word.find_first_not_of('-');
  if (begin == std::string::npos) return "";
  return word.substr(begin, word.find('=') - begin);
}

std::string join(const std::vector<std::string>& items,
                 const std::string& between) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : between) + item;
  return text;
}

// From the program to the innermost verb: "data", "get".
std::vector<const CLI::App*> verbs_of(const CLI::App& program) {
  std::vector<const CLI::App*> verbs;
  const CLI::App* current = &program;
  while (!current->get_subcommands().empty()) {
    current = current->get_subcommands().front();
    verbs.push_back(current);
  }
  return verbs;
}

std::vector<std::string> names_of_verbs(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* verb :
       command.get_subcommands([](const CLI::App*) { return true; }))
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flags_of(const std::vector<const CLI::App*>& verbs) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs)
    for (const CLI::Option* option : verb->get_options())
      for (const std::string& name : option->get_lnames())
        names.push_back(name);
  return names;
}

std::string with_suggestion(const std::string& word, const std::string& near) {
  const std::string quoted = '"' + word.substr(0, word.find('=')) + '"';
  return near.empty() ? quoted : quoted + ", did you mean \"" + near + "\"?";
}

// Values of unknown flags are left over too; the flags say enough.
std::string unknown_flags(const std::vector<std::string>& left_over,
                          const std::vector<const CLI::App*>& verbs) {
  const auto known = flags_of(verbs);
  std::vector<std::string> problems;
  for (const std::string& word : left_over) {
    if (!is_flag(word)) continue;
    const std::string near = nearest_name(bare_name(word), known);
    problems.push_back("unknown flag " +
                       with_suggestion(word, near.empty() ? "" : "--" + near));
  }
  return join(problems, "; ");
}

std::string unexpected_words(const std::vector<std::string>& left_over,
                             const CLI::App& command) {
  const auto verbs = names_of_verbs(command);
  std::vector<std::string> words;
  for (const std::string& word : left_over)
    words.push_back(with_suggestion(word, nearest_name(word, verbs)));
  return std::string("unexpected ") +
         (words.size() == 1 ? "argument " : "arguments ") + join(words, ", ");
}

std::vector<std::string> missing_options(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0)
      missing.push_back(option->get_name());
  return missing;
}

std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0)
    return "a whole number";
  if (type.rfind("FLOAT", 0) == 0) return "a number";
  if (type.rfind("BOOLEAN", 0) == 0 || option.get_expected_max() == 0)
    return "true or false";
  return "a value";
}

// The option that a message of the parser names first.
const CLI::Option* option_in(const std::string& message,
                             const std::vector<const CLI::App*>& verbs) {
  const CLI::Option* found = nullptr;
  size_t first = std::string::npos, longest = 0;
  for (const CLI::App* verb : verbs)
    for (const CLI::Option* option : verb->get_options()) {
      const std::string name = option->get_name();
      const auto at = message.find(name);
      if (name.empty() || at == std::string::npos || at > first) continue;
      // --seed is part of --seeds.
      if (at == first && name.size() < longest) continue;
      found = option;
      first = at;
      longest = name.size();
    }
  return found;
}

std::string quoted_values(const CLI::Option& option) {
  std::vector<std::string> values;
  for (const std::string& value : option.results())
    values.push_back('"' + value + '"');
  return join(values, ", ");
}

}  // namespace

std::string value_problem(const CLI::Option& option,
                          const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return "expected " + type_of(option) + ", got " + quoted_values(option);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (option.count() == 0) return "expected " + type_of(option) + " after it";
    return "expected it once, got " + quoted_values(option);
  }
  const std::string text = first_line(error), name = option.get_name();
  if (text.rfind(name, 0) != 0) return text;
  const auto rest = text.find_first_not_of(": ", name.size());
  return rest == std::string::npos ? text : text.substr(rest);
}

void check_values(const CLI::App& program,
                  const std::vector<std::string>& words) {
  if (words.empty()) return;
  const auto named = program.get_subcommands(
      [&](const CLI::App* app) { return app->get_name() == words[0]; });
  if (named.empty()) return;
  const CLI::App* verb = named.front();
  // --model from "--model" and from "--model=x"; nothing if there is no such.
  const auto find = [&](const std::string& word) -> const CLI::Option* {
    if (word.rfind("--", 0) != 0) return nullptr;
    return verb->get_option_no_throw(word.substr(0, word.find('=')));
  };
  for (size_t i = 1; i < words.size(); ++i) {
    const CLI::Option* option = find(words[i]);
    if (option == nullptr || option->get_expected_min() == 0) continue;
    const auto equals = words[i].find('=');
    require(equals == std::string::npos || equals + 1 < words[i].size(),
            option->get_name(),
            "expected " + type_of(*option) + " after the =");
    require(equals != std::string::npos || i + 1 == words.size() ||
                !words[i + 1].empty(),
            option->get_name(),
            "expected " + type_of(*option) + " after it, got nothing");
    require(equals != std::string::npos || i + 1 == words.size() ||
                find(words[i + 1]) == nullptr,
            option->get_name(),
            "expected " + type_of(*option) + " after it, got the flag " +
                (i + 1 < words.size() ? words[i + 1] : ""));
  }
}

std::string usage_problem(const CLI::App& program,
                          const CLI::ParseError& error) {
  const auto verbs = verbs_of(program);
  if (verbs.empty()) {
    const auto left_over = program.remaining();
    return left_over.empty()
               ? "expected a verb: " + join(names_of_verbs(program), ", ")
               : unknown_flags(left_over, {&program});
  }
  std::vector<std::string> path;
  for (const CLI::App* verb : verbs)
    path.push_back(verb->get_name());
  const std::string subject = join(path, " ") + ": ";

  // What was mistyped explains what is missing.
  const auto left_over = program.remaining(/*recurse=*/true);
  if (const auto unknown = unknown_flags(left_over, verbs); !unknown.empty())
    return subject + unknown;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return subject + unexpected_words(left_over, *verbs.back());
  if (const auto missing = missing_options(*verbs.back());
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      !missing.empty())
    return subject + "expected " + join(missing, " and ") + ", see `sotta " +
           join(path, " ") + " --help`";
  const std::string text = first_line(error);
  const CLI::Option* option = option_in(text, verbs);
  if (option == nullptr) return subject + text;
  return subject + option->get_name() + ": " + value_problem(*option, error);
}

}  // namespace sotta::cli
