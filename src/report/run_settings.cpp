#include "report/run_settings.h"

namespace sotta {
namespace {

// Options that say again what a field says, or that change only speed.
const std::set<std::string> kNotSettings = {
    "corruption", "corruptions", "data",    "dataset",    "jobs",
    "method",     "out",         "preset",  "read_ahead", "scenario",
    "seed",       "severity",    "threads", "variant"};

// Separates the parts of a key; cannot occur in a name.
constexpr char kEnd = '\0';

std::string place_of(const RunRecord& record, bool with_variant) {
  std::string key;
  for (const auto& part :
       {record.dataset, record.scenario, record.corruption, record.method,
        record.preset, std::to_string(record.seed),
        with_variant ? record.variant : std::string()})
    key += part + kEnd;
  return key;
}

// Adds the names under which the two differ; one may lack what the other has.
void add_differences(const Settings& a, const Settings& b,
                     std::set<std::string>& names) {
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second != value) names.insert(name);
  }
  for (const auto& entry : b)
    if (a.count(entry.first) == 0) names.insert(entry.first);
}

std::set<std::string> varied(const std::vector<const RunRecord*>& records,
                             bool with_variant) {
  std::map<std::string, Settings> first;
  std::set<std::string> names;
  for (const RunRecord* record : records) {
    Settings settings = settings_of(*record);
    const auto [seen, is_new] =
        first.try_emplace(place_of(*record, with_variant), settings);
    if (!is_new) add_differences(seen->second, settings, names);
  }
  return names;
}

}  // namespace

Settings settings_of(const RunRecord& record) {
  Settings settings = {{"verb", record.verb},
                       {"model", record.model},
                       {"severity", std::to_string(record.severity)},
                       {"corruption_source", record.corruption_source}};
  for (const auto& [name, value] : record.options)
    if (kNotSettings.count(name) == 0) settings[name] = to_text(value);
  return settings;
}

std::set<std::string> varied_settings(
    const std::vector<const RunRecord*>& records) {
  return varied(records, /*with_variant=*/true);
}

std::set<std::string> varied_over_variants(
    const std::vector<const RunRecord*>& records) {
  return varied(records, /*with_variant=*/false);
}

}  // namespace sotta
