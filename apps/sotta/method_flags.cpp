#include "method_flags.h"

#include <algorithm>

#include "sotta/core/options.h"
#include "sotta/eval/grid.h"

#include "core/checks.h"
#include "flags.h"

namespace sotta::cli {
namespace {

// What validate() cannot tell of an option that has its default.
bool has_effect(const std::string& guard_flag, const GuardOptions& guard) {
  if (guard.action == "off") return false;
  if (guard_flag == "--guard-history") return true;
  const bool is_of_floor =
      guard_flag == "--guard-look-every" || guard_flag == "--guard-margin";
  return is_of_floor == (guard.action == "floor");
}

}  // namespace

void add_method_flags(CLI::App& command, MethodFlags& flags) {
  command.add_option("--method", flags.method, "see `sotta info`")
      ->capture_default_str();
  command.add_option("--preset", flags.preset, "clean or paper")
      ->capture_default_str();
  command.add_option("--set", flags.changes,
                     "an option of the method, name=value");
  command.add_option("--window", flags.window, "images between two updates")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "of every random choice")
      ->capture_default_str();
  add_option_flags(command, flags.guard);
}

void check_method_flags(const MethodFlags& flags) {
  require_at_least("--window", flags.window, 1);
  validate(flags.guard);
  for (const std::string& flag : flags.given)
    require(flag.rfind("--guard-", 0) != 0 || has_effect(flag, flags.guard),
            flag, "has no effect while --guard is " + flags.guard.action);
}

OptionMap parse_method_changes(const MethodFlags& flags, int64_t classes) {
  const auto known =
      method_options(flags.method, parse_preset(flags.preset), classes);
  std::vector<std::string> names;
  for (const auto& field : known)
    names.push_back(field.name);
  OptionMap parsed;
  for (const auto& text : flags.changes) {
    const auto [name, value] = parse_change(text, "--set");
    const auto field = std::find(names.begin(), names.end(), name);
    if (field == names.end()) fail_unknown_name(flags.method, name, names);
    require(parsed.count(name) == 0, "--set", name + " is given twice");
    parsed[name] = parse_option(
        name, value, known[static_cast<size_t>(field - names.begin())].value);
  }
  return parsed;
}

}  // namespace sotta::cli
