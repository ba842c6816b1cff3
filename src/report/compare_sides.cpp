#include <functional>
#include <set>

#include "sotta/core/error.h"

#include "report/compare_runs.h"
#include "report/tables/number_text.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

using Runs = std::vector<RunRecord>;

// What the runs have that no table shows, and results may depend on.
struct Property {
  const char* name;
  std::function<std::string(const RunRecord&)> of;
};

std::string option_text(const RunRecord& run, const char* name) {
  const auto found = run.options.find(name);
  return found == run.options.end() ? "" : to_text(found->second);
}

const std::vector<Property>& properties() {
  static const std::vector<Property> kProperties = {
      {"sotta", [](const RunRecord& run) { return run.version; }},
      {"LibTorch", [](const RunRecord& run) { return run.libtorch; }},
      {"device", [](const RunRecord& run) { return run.device; }},
      {"engine", [](const RunRecord& run) { return run.engine; }},
      {"threads",
       [](const RunRecord& run) { return std::to_string(run.threads); }},
      {"precision",
       [](const RunRecord& run) { return option_text(run, "precision"); }},
      {"model",
       [](const RunRecord& run) { return option_text(run, kModelChecksum); }}};
  return kProperties;
}

// "0.1.0, 0.2.0"; too many to read are counted.
std::string values_of(const Property& property, const Runs& runs) {
  constexpr size_t kMostShown = 4;
  std::set<std::string> values;
  for (const RunRecord& run : runs)
    values.insert(property.of(run));
  values.erase("");
  if (values.size() > kMostShown)
    return std::to_string(values.size()) + " values";
  return values.empty() ? "not recorded" : joined(values);
}

TableCell words(const std::string& text) {
  TableCell cell;
  cell.text = text;
  return cell;
}

std::string run_count(const Runs& runs) {
  return std::to_string(runs.size());
}

Table sides_table(const SideNames& names, const Runs& first,
                  const Runs& second) {
  Table table;
  table.name = "against/sides";
  table.title = "The two sides";
  table.row_header = "What";
  table.columns = {{names.other, Better::kNeither},
                   {names.these, Better::kNeither}};
  table.rows.push_back(
      {"runs", {words(run_count(first)), words(run_count(second))}});
  for (const Property& property : properties())
    table.rows.push_back({property.name,
                          {words(values_of(property, first)),
                           words(values_of(property, second))}});
  return table;
}

}  // namespace

Report compare_sides(const std::string& first, const Runs& first_records,
                     const std::string& second, const Runs& second_records) {
  const SideNames names = {first, second, "Only " + first, "Only " + second};
  Comparison comparison = compare_runs(second_records, first_records, names);
  if (comparison.shared == 0)
    fail(ErrorKind::kInvalid, first + " and " + second,
         "expected a cell that both have (dataset, preset, method, scenario "
         "and corruption), found none");
  Section& section = comparison.section;
  section.tables.insert(section.tables.begin(),
                        sides_table(names, first_records, second_records));
  Report report;
  report.title = first + " and " + second;
  report.sections = {std::move(section)};
  return report;
}

}  // namespace sotta
