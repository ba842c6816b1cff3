#include <string>

#include "command_tree.h"
#include "manual.h"

namespace sotta::cli {
namespace {

// Calls work(path, command) for the program and each verb below it, the path
// being "", " adapt", " data get".
template <class Work>
void for_each_command(const CLI::App& command, const std::string& path,
                      const Work& work) {
  work(path, command);
  for (const CLI::App* verb : verbs_of(command))
    for_each_command(*verb, path + " " + verb->get_name(), work);
}

std::string flag_words(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : options_of(command))
    for (const std::string& name : spellings(*option))
      words += (words.empty() ? "" : " ") + name;
  return words;
}

std::string verb_words(const CLI::App& command) {
  std::string words;
  for (const CLI::App* verb : verbs_of(command))
    words += (words.empty() ? "" : " ") + verb->get_name();
  return words;
}

// A word of a shell script, whatever it holds.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

// What zsh would take for a part of its own notation.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\')
      escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string zsh_arguments(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : options_of(command))
    for (const std::string& name : spellings(*option)) {
      const bool has_value = takes_value(*option);
      text += " \\\n        " +
              quoted((option->get_expected_max() > 1 ? "*" : "") + name +
                     (has_value ? "=" : "") + "[" +
                     zsh_text(option->get_description()) + "]" +
                     (has_value
                          ? ":" + zsh_text(option->get_type_name()) + ":_files"
                          : ""));
    }
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::string paths, words;
  for_each_command(
      program, "", [&](const std::string& path, const CLI::App& command) {
        if (!path.empty()) paths += (paths.empty() ? "" : " | ") + quoted(path);
        words += "    " + quoted(path) +
                 ")\n      verbs=" + quoted(verb_words(command)) +
                 "\n      flags=" + quoted(flag_words(command)) + " ;;\n";
      });
  return "# Completion of sotta for bash: verbs, flags, and files after them.\n"
         "_sotta() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path='' verbs='' flags='' "
         "i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in\n      " +
         paths +
         ") path+=\" ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case $path in\n" +
         words +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  if [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
         "  elif [[ $path == '' || ${COMP_WORDS[COMP_CWORD - 1]} == "
         "\"${path##* "
         "}\" ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$current\")\n"
         "  fi\n"
         "} &&\n"
         "  complete -o default -F _sotta sotta\n";
}

std::string zsh_completion(const CLI::App& program) {
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(program)) {
    verbs +=
        "    " +
        quoted(verb->get_name() + ":" + zsh_text(verb->get_description())) +
        "\n";
    std::string more = " \\\n        '*:file:_files'";
    if (!verbs_of(*verb).empty())
      more = " \\\n        '1:verb:(" + verb_words(*verb) +
             ")' \\\n        '*:file:_files'";
    cases += "      " + verb->get_name() + ") _arguments" +
             zsh_arguments(*verb) + more + " ;;\n";
  }
  return "#compdef sotta\n"
         "# Completion of sotta for zsh: verbs, flags, and files after them.\n"
         "_sotta() {\n"
         "  local state line\n"
         "  local -a verbs=(\n" +
         verbs +
         "  )\n"
         "  _arguments -C" +
         zsh_arguments(program) +
         " \\\n        '1: :->verb' \\\n        '*:: :->rest'\n"
         "  case $state in\n"
         "    verb) _describe verb verbs ;;\n"
         "    rest) case $line[1] in\n" +
         cases +
         "    esac ;;\n"
         "  esac\n"
         "}\n"
         "_sotta \"$@\"\n";
}

}  // namespace sotta::cli
