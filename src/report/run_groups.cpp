#include "report/run_groups.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <tuple>

#include "report/names.h"
#include "report/run_settings.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

using Runs = std::vector<const RunRecord*>;
using UsualValues = std::map<std::string, std::optional<std::string>>;

// A run may lack an option that others have.
std::string value_of(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "none" : found->second;
}

// The value that more runs have than any other.
std::optional<std::string> usual_value(const Runs& runs,
                                       const std::string& name) {
  std::map<std::string, int64_t> count;
  for (const RunRecord* run : runs)
    ++count[value_of(settings_of(*run), name)];
  std::optional<std::string> usual;
  int64_t most = 0;
  for (const auto& [value, times] : count) {
    if (times == most) usual.reset();
    if (times <= most) continue;
    usual = value;
    most = times;
  }
  return usual;
}

std::string setting_text(const RunRecord& run, const UsualValues& usual) {
  std::vector<std::string> parts;
  const Settings settings = settings_of(run);
  for (const auto& [name, value] : usual) {
    const std::string own = value_of(settings, name);
    if (own != value) parts.push_back(name + " " + own);
  }
  return joined(parts);
}

// "stats_momentum 0.05" before "stats_momentum 0.1", whatever the alphabet
// says.
auto sort_key(const RunRow& row) {
  const size_t space = std::min(row.setting.find(' '), row.setting.size());
  return std::make_tuple(row.variant, row.setting.substr(0, space),
                         std::strtod(row.setting.c_str() + space, nullptr),
                         row.setting);
}

// A sweep names its runs by what it changed, "min_confidence=0.5": that is no
// variant of the method but a setting. Empty if the name is a name.
std::string setting_in_name(const RunRecord& run) {
  std::vector<std::string> settings;
  std::istringstream parts(run.variant);
  for (std::string part; parts >> part;) {
    const size_t sign = part.find('=');
    if (sign == std::string::npos ||
        run.options.count(part.substr(0, sign)) == 0)
      return "";
    settings.push_back(part.replace(sign, 1, " "));
  }
  return joined(settings);
}

// The rows of one method and variant: more than one if settings were tried out.
void add_rows(const Runs& runs, std::vector<RunRow>& rows) {
  UsualValues usual;
  for (const auto& name : varied_settings(runs))
    usual[name] = usual_value(runs, name);
  const std::string in_name = setting_in_name(*runs.front());
  std::map<std::string, RunRow> by_setting;
  for (const RunRecord* run : runs) {
    std::vector<std::string> settings = {in_name, setting_text(*run, usual)};
    settings.erase(std::remove(settings.begin(), settings.end(), ""),
                   settings.end());
    const std::string setting = joined(settings);
    RunRow& row = by_setting[setting];
    row.method = run->method;
    row.variant = in_name.empty() ? run->variant : "";
    row.setting = setting;
    row.scenarios[run->scenario][run->corruption][run->seed] = run;
  }
  for (auto& entry : by_setting)
    rows.push_back(std::move(entry.second));
}

// The usual settings stand for the method; where no row has them, all that are
// no named variant or sweep, so that no method is left out.
void choose_main(std::vector<RunRow>& rows) {
  const auto is_usual = [](const RunRow& row) {
    return row.variant.empty() && row.setting.empty();
  };
  const bool some_usual = std::any_of(rows.begin(), rows.end(), is_usual);
  for (RunRow& row : rows)
    row.is_main =
        some_usual ? is_usual(row) : row.runs().front()->variant.empty();
}

std::set<std::string> names_of(const Runs& runs,
                               std::string RunRecord::*field) {
  std::set<std::string> names;
  for (const RunRecord* run : runs)
    names.insert(run->*field);
  return names;
}

Runs where(const Runs& runs, std::string RunRecord::*field,
           const std::string& value) {
  Runs result;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(result),
               [&](const RunRecord* run) { return run->*field == value; });
  return result;
}

Labels labels_of(const Runs& runs, std::string RunRecord::*name,
                 std::string RunRecord::*label) {
  Labels labels;
  for (const RunRecord* run : runs)
    if (!(run->*label).empty()) labels[run->*name] = run->*label;
  return labels;
}

std::string find_label(const Labels& labels, const std::string& name,
                       std::string (*of_paper)(const std::string&)) {
  const auto found = labels.find(name);
  return found == labels.end() ? of_paper(name) : found->second;
}

RunGroup make_group(const Runs& runs) {
  RunGroup group;
  group.method_labels =
      labels_of(runs, &RunRecord::method, &RunRecord::method_label);
  group.scenario_labels =
      labels_of(runs, &RunRecord::scenario, &RunRecord::scenario_label);
  group.corruption_labels =
      labels_of(runs, &RunRecord::corruption, &RunRecord::corruption_label);
  group.dataset = runs.front()->dataset;
  group.preset = runs.front()->preset;
  group.scenarios = sort_scenarios(names_of(runs, &RunRecord::scenario));
  for (const auto& method : sort_methods(names_of(runs, &RunRecord::method))) {
    const Runs of_method = where(runs, &RunRecord::method, method);
    std::vector<RunRow> rows;
    for (const auto& variant : names_of(of_method, &RunRecord::variant))
      add_rows(where(of_method, &RunRecord::variant, variant), rows);
    std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
      return sort_key(a) < sort_key(b);
    });
    choose_main(rows);
    for (RunRow& row : rows)
      row.method_label = group.method_label(method);
    std::move(rows.begin(), rows.end(), std::back_inserter(group.rows));
  }
  return group;
}

}  // namespace

const RunsByCorruption& RunRow::in(const std::string& scenario) const {
  static const RunsByCorruption kNone;
  const auto found = scenarios.find(scenario);
  return found == scenarios.end() ? kNone : found->second;
}

std::vector<const RunRecord*> RunRow::runs() const {
  Runs all;
  for (const auto& [scenario, corruptions] : scenarios)
    for (const auto& [corruption, seeds] : corruptions)
      for (const auto& [seed, run] : seeds)
        all.push_back(run);
  return all;
}

std::string RunRow::label() const {
  std::string text = method_label;
  if (!variant.empty()) text += ", " + variant;
  if (!setting.empty()) text += " (" + setting + ")";
  return text;
}

std::string RunRow::file_label() const {
  return setting.empty() ? method : method + "-" + setting;
}

std::string RunGroup::label() const {
  return dataset + ", preset " + preset;
}

std::string RunGroup::method_label(const std::string& method) const {
  return find_label(method_labels, method, sotta::method_label);
}

std::string RunGroup::scenario_label(const std::string& scenario) const {
  return find_label(scenario_labels, scenario, sotta::scenario_label);
}

std::string RunGroup::corruption_label(const std::string& corruption) const {
  return find_label(corruption_labels, corruption, sotta::corruption_label);
}

bool RunGroup::has_foreign(const std::string& scenario) const {
  for (const RunRow& row : rows)
    for (const auto& [corruption, seeds] : row.in(scenario))
      for (const auto& [seed, run] : seeds)
        if (run->foreign > 0) return true;
  return false;
}

std::vector<std::string> RunGroup::corruptions(
    const std::string& scenario) const {
  std::set<std::string> names;
  for (const RunRow& row : rows)
    for (const auto& entry : row.in(scenario))
      names.insert(entry.first);
  return sort_corruptions(names);
}

std::vector<std::string> RunGroup::averaged(const std::string& scenario) const {
  const auto all = corruptions(scenario);
  const auto& known = paper_corruptions();
  std::vector<std::string> names;
  std::copy_if(all.begin(), all.end(), std::back_inserter(names),
               [&](const std::string& name) {
                 return std::count(known.begin(), known.end(), name) > 0;
               });
  return names.empty() ? all : names;
}

std::vector<RunGroup> group_runs(const std::vector<RunRecord>& records) {
  Runs all;
  for (const RunRecord& record : records)
    all.push_back(&record);
  std::vector<RunGroup> groups;
  for (const auto& dataset :
       sort_datasets(names_of(all, &RunRecord::dataset))) {
    const Runs of_dataset = where(all, &RunRecord::dataset, dataset);
    for (const auto& preset : names_of(of_dataset, &RunRecord::preset))
      groups.push_back(
          make_group(where(of_dataset, &RunRecord::preset, preset)));
  }
  return groups;
}

}  // namespace sotta
