#include <set>

#include "sotta/report/report.h"

#include "report/figures/figures.h"
#include "report/run_groups.h"
#include "report/tables/accuracy_tables.h"
#include "report/tables/cost_table.h"
#include "report/tables/number_text.h"
#include "report/tables/screening_tables.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

void append(std::vector<Table>& tables, std::vector<Table> more) {
  for (Table& table : more)
    tables.push_back(std::move(table));
}

// "sotta 0.1.0 with LibTorch 1.13.1"
std::string versions(const std::vector<RunRecord>& records) {
  std::set<std::string> names;
  for (const RunRecord& record : records)
    names.insert("sotta " + record.version + " with LibTorch " +
                 record.libtorch);
  return joined(names);
}

Section make_section(const RunGroup& group) {
  Section section;
  section.title = group.label();
  append(section.tables, scenario_tables(group));
  append(section.tables, corruption_tables(group));
  append(section.tables, variant_tables(group));
  append(section.tables, setting_tables(group));
  append(section.tables, screening_tables(group));
  append(section.tables, cost_tables(group));
  section.figures = make_figures(group);
  return section;
}

}  // namespace

Report make_report(const std::vector<RunRecord>& records,
                   const DefaultOptions& defaults) {
  Report report;
  report.title = "Test-time adaptation: results";
  report.paragraphs = {counted(static_cast<int64_t>(records.size()), "run") +
                       ", made by " + versions(records) + "."};
  for (RunGroup& group : group_runs(records)) {
    group.defaults = defaults;
    report.sections.push_back(make_section(group));
  }
  return report;
}

}  // namespace sotta
