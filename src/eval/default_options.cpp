#include "eval/default_options.h"

#include "sotta/core/error.h"
#include "sotta/eval/cell.h"

#include "data/sets/catalog.h"

namespace sotta {

OptionMap default_options(const RunRecord& record) {
  Cell cell;
  cell.dataset = record.dataset;
  cell.method = record.method;
  cell.preset = record.preset;
  cell.stream.scenario = record.scenario;
  CellFacts facts;
  OptionMap options;
  try {
    facts.classes = find_dataset(record.dataset).classes;
    options = describe(cell, facts).options;
  } catch (const Error&) {
    return {};
  }
  for (const auto& more : {to_option_map(cell.odin), to_option_map(cell.guard)})
    options.insert(more.begin(), more.end());
  return options;
}

}  // namespace sotta
