#include "sotta/eval/cell.h"

#include <set>

#include "sotta/adapt/make_adapter.h"
#include "sotta/stream/scenario.h"

#include "eval/begin_record.h"

namespace sotta {
namespace {

// Fields of a stream that are the grid's axes or have fields of a record.
const std::set<std::string> kAxes = {"scenario", "corruptions", "severity",
                                     "seed"};

const std::string kGradientSamples = "gradient_samples";

// Changes speed alone.
const std::string kReadAhead = "read_ahead";

template <class Options>
bool set_field(Options& options, const std::string& name,
               const std::string& text) {
  bool found = false;
  options.visit([&](const char* field_name, auto& field, const char*) {
    if (name != field_name) return;
    using Field = std::decay_t<decltype(field)>;
    field = std::get<Field>(parse_option(name, text, OptionValue(field)));
    found = true;
  });
  return found;
}

template <class Options>
void add_names(const Options& options, std::vector<std::string>& names) {
  for (const auto& field : option_fields(options))
    if (kAxes.count(field.name) == 0) names.push_back(field.name);
}

// The stream's options as a record holds them.
OptionMap stream_options(const Cell& cell, const CellFacts& facts) {
  OptionMap options = to_option_map(cell.stream);
  for (const auto& name : kAxes)
    options.erase(name);
  options.erase(kReadAhead);
  options["foreign"] = facts.foreign;
  return options;
}

OptionMap all_options(const Cell& cell, const CellFacts& facts) {
  OptionMap options = stream_options(cell, facts);
  for (const auto& field :
       method_options(cell.method, parse_preset(cell.preset), facts.classes))
    options[field.name] = field.value;
  const auto add = [&](const OptionMap& more) {
    for (const auto& [name, value] : more)
      options[name] = value;
  };
  add(cell.method_changes);
  if (cell.odin.threshold > 0) add(to_option_map(cell.odin));
  if (cell.guard.action != "off") add(to_option_map(cell.guard));
  if (find_scenario(cell.stream.scenario).has_attacker())
    add(to_option_map(cell.attack));
  if (cell.gradient_samples > 0)
    options[kGradientSamples] = cell.gradient_samples;
  options[kModelChecksum] = facts.model_checksum;
  return options;
}

}  // namespace

std::string corruption_name(const Cell& cell) {
  return cell.stream.corruptions == "all" ? kCorruptionSequence
                                          : cell.stream.corruptions;
}

std::vector<std::string> cell_option_names(const Cell& cell, int64_t classes) {
  std::vector<std::string> names = {kGradientSamples};
  for (const auto& field :
       method_options(cell.method, parse_preset(cell.preset), classes))
    names.push_back(field.name);
  add_names(cell.stream, names);
  add_names(cell.odin, names);
  add_names(cell.guard, names);
  add_names(cell.attack, names);
  return names;
}

void set_cell_option(Cell& cell, const std::string& name,
                     const std::string& text, int64_t classes,
                     const std::string& subject) {
  for (const auto& field :
       method_options(cell.method, parse_preset(cell.preset), classes))
    if (field.name == name) {
      cell.method_changes[name] = parse_option(name, text, field.value);
      return;
    }
  if (name == kGradientSamples) {
    cell.gradient_samples =
        std::get<int64_t>(parse_option(name, text, OptionValue(int64_t{0})));
    return;
  }
  const bool axis = kAxes.count(name) > 0;
  if (axis ||
      !(set_field(cell.stream, name, text) ||
        set_field(cell.odin, name, text) || set_field(cell.guard, name, text) ||
        set_field(cell.attack, name, text)))
    fail_unknown_name(subject, name, cell_option_names(cell, classes));
}

RunRecord describe(const Cell& cell, const CellFacts& facts) {
  RunRecord record =
      begin_record({"bench", cell.dataset, cell.method, cell.stream.scenario,
                    corruption_name(cell)});
  record.severity = cell.stream.corruptions.empty() ? 0 : cell.stream.severity;
  record.corruption_source = facts.corruption_source;
  record.model = cell.model.substr(cell.model.find_last_of('/') + 1);
  record.variant = cell.variant;
  record.preset = cell.preset;
  record.seed = cell.stream.seed;
  record.options = all_options(cell, facts);
  return record;
}

}  // namespace sotta
