#include "report/writers/escape.h"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace sotta {
namespace {

using Replacements = std::vector<std::pair<std::string_view, std::string_view>>;

// Control characters are not allowed in XML and would break a table's row.
bool is_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code < 0x20 || code == 0x7f;
}

std::string replace_all(const std::string& text,
                        const Replacements& replacements) {
  const std::string_view rest_of(text);
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const auto rest = rest_of.substr(i);
    size_t length = 1;
    std::string_view by = is_control(text[i]) ? " " : rest.substr(0, 1);
    for (const auto& [from, to] : replacements) {
      if (rest.substr(0, from.size()) != from) continue;
      length = from.size();
      by = to;
      break;
    }
    result += by;
    i += length;
  }
  return result;
}

}  // namespace

std::string escape_markdown(const std::string& text) {
  static const Replacements kReplacements = {
      {"\\", "\\\\"}, {"`", "\\`"},   {"*", "\\*"},  {"_", "\\_"},
      {"[", "\\["},   {"]", "\\]"},   {"|", "\\|"},  {"~", "\\~"},
      {"$", "\\$"},   {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}};
  return replace_all(text, kReplacements);
}

std::string escape_latex(const std::string& text) {
  static const Replacements kReplacements = {{"\\", "\\textbackslash{}"},
                                             {"&", "\\&"},
                                             {"%", "\\%"},
                                             {"$", "\\$"},
                                             {"#", "\\#"},
                                             {"_", "\\_"},
                                             {"{", "\\{"},
                                             {"}", "\\}"},
                                             {"~", "\\textasciitilde{}"},
                                             {"^", "\\textasciicircum{}"},
                                             {"<", "\\textless{}"},
                                             {">", "\\textgreater{}"},
                                             {"±", "$\\pm$"},
                                             {"−", "$-$"},
                                             {"×", "$\\times$"},
                                             {"—", "---"},
                                             {"–", "--"}};
  return replace_all(text, kReplacements);
}

std::string escape_html(const std::string& text) {
  static const Replacements kReplacements = {{"&", "&amp;"},
                                             {"<", "&lt;"},
                                             {">", "&gt;"},
                                             {"\"", "&quot;"},
                                             {"'", "&#39;"}};
  return replace_all(text, kReplacements);
}

std::string escape_url(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    const auto code = static_cast<unsigned char>(letter);
    if ((code < 0x80 && std::isalnum(code)) ||
        std::strchr("-._~/", letter) != nullptr) {
      text += letter;
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", code);
    text += escaped;
  }
  return text;
}

std::string one_line(const std::string& text) {
  return replace_all(text, {});
}

std::string escape_csv(const std::string& text) {
  const std::string line = replace_all(text, {{"\"", "\"\""}});
  return line.find_first_of("\",") == std::string::npos ? line
                                                        : "\"" + line + "\"";
}

}  // namespace sotta
