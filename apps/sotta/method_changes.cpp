#include "method_changes.h"

#include <algorithm>

#include "sotta/core/options.h"
#include "sotta/eval/grid.h"

namespace sotta::cli {

OptionMap parse_method_changes(const std::string& method, Preset preset,
                               int64_t classes,
                               const std::vector<std::string>& changes) {
  const auto known = method_options(method, preset, classes);
  std::vector<std::string> names;
  for (const auto& field : known)
    names.push_back(field.name);
  OptionMap parsed;
  for (const auto& text : changes) {
    const auto [name, value] = parse_change(text, "--set");
    const auto field = std::find(names.begin(), names.end(), name);
    if (field == names.end()) fail_unknown_name(method, name, names);
    parsed[name] = parse_option(
        name, value, known[static_cast<size_t>(field - names.begin())].value);
  }
  return parsed;
}

}  // namespace sotta::cli
