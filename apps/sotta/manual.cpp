#include "manual.h"

#include <cctype>

#include "sotta/core/error.h"

#include "command_tree.h"
#include "core/atomic_file.h"

namespace sotta::cli {
namespace {

// Text as roff takes it: a hyphen is a minus, so that flags can be copied.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\')
      escaped += "\\e";
    else if (letter == '-')
      escaped += "\\-";
    else
      escaped += letter;
  }
  // A line that begins with one of these would be a request.
  const bool is_request = text[0] == '.' || text[0] == '\'';
  return is_request ? "\\&" + escaped : escaped;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string capitals(std::string text) {
  for (char& letter : text)
    letter =
        static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

std::string section(const std::string& title) {
  return ".SH \"" + title + "\"\n";
}

bool is_flag(const CLI::Option& option) {
  return !spellings(option).empty();
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  for (const std::string& name : spellings(option))
    head += (head.empty() ? "" : ", ") + bold(name);
  if (!is_flag(option))
    head = italic(option.get_name(/*positional=*/true));
  else if (takes_value(option))
    head += " " + italic(option.get_type_name());
  if (option.get_expected_max() > 1) head += " ...";
  std::string text = roff(option.get_description());
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty())
    text += " (default: " + roff(option.get_default_str()) + ")";
  return ".TP\n" + head + "\n" + text + "\n";
}

std::string synopsis(const std::string& name, const CLI::App& command) {
  std::string line = bold(name) + " [" + italic("options") + "]";
  for (const CLI::Option* option : options_of(command))
    if (!is_flag(*option)) {
      const std::string word = italic(option->get_name(/*positional=*/true));
      line += " " + (option->get_required() ? word : "[" + word + "]");
    }
  if (!verbs_of(command).empty()) {
    const std::string verb = italic("verb");
    line += " " + (command.get_require_subcommand_min() > 0 ? verb
                                                            : "[" + verb + "]");
  }
  return line + "\n";
}

std::string option_list(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : options_of(command))
    text += option_entry(*option);
  return text;
}

std::string heading(const std::string& page, const std::string& version,
                    const std::string& description) {
  return ".TH \"" + roff(capitals(page)) + "\" 1 \"\" \"sotta " + version +
         "\" \"User Commands\"\n" + section("NAME") + roff(page) + " \\- " +
         roff(description) + "\n";
}

std::string verb_page(const CLI::App& verb, const std::string& version) {
  const std::string name = "sotta " + verb.get_name();
  std::string text =
      heading("sotta-" + verb.get_name(), version, verb.get_description());
  text += section("SYNOPSIS") + synopsis(name, verb);
  for (const CLI::App* inner : verbs_of(verb))
    text += ".br\n" + synopsis(name + " " + inner->get_name(), *inner);
  text += section("OPTIONS") + option_list(verb);
  for (const CLI::App* inner : verbs_of(verb))
    text += section(capitals(name + " " + inner->get_name())) +
            roff(inner->get_description()) + ".\n" + option_list(*inner);
  return text + section("SEE ALSO") + ".BR sotta (1)\n";
}

std::string program_page(const CLI::App& program, const std::string& version) {
  std::string text = heading(
      "sotta", version, "robust test-time adaptation of image classifiers");
  text += section("SYNOPSIS") + synopsis("sotta", program);
  text += section("DESCRIPTION") + roff(program.get_description()) +
          "\nEvery verb has a page of its own.\n";
  text += section("VERBS");
  std::string pages;
  for (const CLI::App* verb : verbs_of(program)) {
    text += ".TP\n" + bold(verb->get_name()) + "\n" +
            roff(verb->get_description()) + "\n";
    pages += (pages.empty() ? "" : " ,\n") + std::string(".BR ") +
             roff("sotta-" + verb->get_name()) + " (1)";
  }
  text += section("OPTIONS") + option_list(program);
  text +=
      section("EXIT STATUS") +
      "0 when it is done, 2 for wrong usage or input or too little memory,\n"
      "1 for anything else.\n";
  text += section("ENVIRONMENT") +
          ".TP\n\\fBSOTTA_DATA\\fR\ndata root where \\fB\\-\\-data\\fR is not "
          "given\n";
  return text + section("SEE ALSO") + pages + "\n";
}

}  // namespace

std::map<std::string, std::string> man_pages(const CLI::App& program,
                                             const std::string& version) {
  std::map<std::string, std::string> pages;
  pages["sotta.1"] = program_page(program, version);
  for (const CLI::App* verb : verbs_of(program))
    pages["sotta-" + verb->get_name() + ".1"] = verb_page(*verb, version);
  return pages;
}

void write_manual(const CLI::App& program, const std::string& version,
                  const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "man1");
  for (const auto& [name, text] : man_pages(program, version))
    replace_file(folder / "man1" / name, text);
  replace_file(folder / "sotta.bash", bash_completion(program));
  replace_file(folder / "_sotta", zsh_completion(program));
}

}  // namespace sotta::cli
