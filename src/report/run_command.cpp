#include "report/run_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "report/names.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

using Runs = std::vector<const RunRecord*>;

constexpr const char* kPrecision = "precision";

// A word that no shell takes apart.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos)
    return word;
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string flag(const std::string& name, const std::string& value) {
  return "--" + name + " " + quoted(value);
}

std::set<std::string> names_of(const Runs& runs,
                               std::string RunRecord::*field) {
  std::set<std::string> names;
  for (const RunRecord* run : runs)
    names.insert(run->*field);
  return names;
}

std::string replaced(const std::string& text, size_t at, size_t length,
                     const std::string& by) {
  return text.substr(0, at) + by + text.substr(at + length);
}

// The weights file, with {seed} where the runs' files differ by their seeds.
std::string model_of(const Runs& runs) {
  const RunRecord& first = *runs.front();
  if (names_of(runs, &RunRecord::model).size() == 1) return first.model;
  const std::string seed = std::to_string(first.seed);
  for (size_t at = first.model.find(seed); at != std::string::npos;
       at = first.model.find(seed, at + 1)) {
    const bool fits =
        std::all_of(runs.begin(), runs.end(), [&](const RunRecord* run) {
          return run->model == replaced(first.model, at, seed.size(),
                                        std::to_string(run->seed));
        });
    if (fits) return replaced(first.model, at, seed.size(), "{seed}");
  }
  return first.model;
}

std::string seeds_of(const Runs& runs) {
  std::set<int64_t> seeds;
  for (const RunRecord* run : runs)
    seeds.insert(run->seed);
  std::vector<std::string> names;
  for (const int64_t seed : seeds)
    names.push_back(std::to_string(seed));
  return joined(names, ",");
}

std::string corruptions_of(const Runs& runs) {
  const auto names = sort_corruptions(names_of(runs, &RunRecord::corruption));
  if (names == paper_corruptions() && names.size() > 1) return "all";
  if (names.size() == 1 && names.front().empty()) return "none";
  return joined(names, ",");
}

// What was set: the options that no default explains, with one value in all
// runs that have them.
std::map<std::string, std::string> changes_of(const Runs& runs,
                                              const DefaultOptions& defaults) {
  std::map<std::string, std::string> changes;
  std::set<std::string> several;
  for (const RunRecord* run : runs) {
    const OptionMap usual = defaults ? defaults(*run) : OptionMap();
    for (const auto& [name, value] : run->options) {
      if (name == kModelChecksum || name == kPrecision) continue;
      const auto found = usual.find(name);
      if (found != usual.end() && found->second == value) continue;
      const auto [known, is_new] = changes.emplace(name, to_text(value));
      if (!is_new && known->second != to_text(value)) several.insert(name);
    }
  }
  for (const auto& name : several)
    changes.erase(name);
  return changes;
}

// A method with what was set, or a variant that carries it in its name's row.
void add_row_flags(const Runs& runs, const DefaultOptions& defaults,
                   Flags& flags) {
  const RunRecord& first = *runs.front();
  const auto changes = changes_of(runs, defaults);
  if (first.variant.empty()) {
    flags.push_back(flag("method", first.method));
    for (const auto& [name, value] : changes)
      flags.push_back(flag("set", name + "=" + value));
    return;
  }
  std::string row = first.variant + ": " + first.method;
  for (const auto& [name, value] : changes)
    row += " " + name + "=" + value;
  flags.push_back(flag("variant", row));
}

}  // namespace

Flags bench_flags(const Runs& runs, const DefaultOptions& defaults) {
  if (runs.empty() || runs.front()->verb != "bench") return {};
  const RunRecord& first = *runs.front();
  Flags flags = {flag("dataset", first.dataset), flag("model", model_of(runs))};
  add_row_flags(runs, defaults, flags);
  if (first.preset != RunRecord().preset)
    flags.push_back(flag("preset", first.preset));
  flags.push_back(flag("seeds", seeds_of(runs)));
  if (const auto found = first.options.find(kPrecision);
      found != first.options.end())
    flags.push_back(flag(kPrecision, to_text(found->second)));
  if (!first.device.empty() && first.device != "cpu")
    flags.push_back(flag("device", first.device));
  if (first.severity > 0)
    flags.push_back(flag("severity", std::to_string(first.severity)));
  const auto scenarios = sort_scenarios(names_of(runs, &RunRecord::scenario));
  flags.push_back(flag("scenario", joined(scenarios, ",")));
  flags.push_back(flag("corruption", corruptions_of(runs)));
  return flags;
}

void set_commands(TableRow& row, const std::vector<Flags>& flags) {
  std::optional<Flags> common;
  for (const Flags& own : flags) {
    if (own.empty()) continue;
    if (!common) common = own;
    common->erase(std::remove_if(common->begin(), common->end(),
                                 [&](const std::string& flag) {
                                   return std::count(own.begin(), own.end(),
                                                     flag) == 0;
                                 }),
                  common->end());
  }
  if (!common) return;
  row.command = "sotta bench " + joined(*common, " ");
  for (size_t i = 0; i < std::min(flags.size(), row.cells.size()); ++i) {
    Flags rest;
    for (const auto& flag : flags[i])
      if (std::count(common->begin(), common->end(), flag) == 0)
        rest.push_back(flag);
    row.cells[i].flags = joined(rest, " ");
  }
}

}  // namespace sotta
