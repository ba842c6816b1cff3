#include <set>

#include "sotta/report/study.h"

#include "report/tables/number_text.h"
#include "report/tables/paper_distance.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

TableCell words(const std::string& text) {
  TableCell cell;
  cell.text = text;
  return cell;
}

TableCell whole(int64_t number) {
  TableCell cell;
  cell.value = static_cast<double>(number);
  return cell;
}

std::string seeds_of(const Study& study) {
  std::set<int64_t> seeds;
  for (const RunRecord& record : study.records)
    seeds.insert(record.seed);
  std::vector<std::string> names;
  for (const int64_t seed : seeds)
    names.push_back(std::to_string(seed));
  return joined(names);
}

std::string link_to(const Study& study) {
  return study.name + "/report";
}

TableRow study_row(const Study& study, const Report& report) {
  const auto distances = paper_distances(report);
  const auto within = [&](double points) {
    return words(std::to_string(count_within(distances, points)) + " of " +
                 std::to_string(distances.size()));
  };
  const TableCell runs = whole(static_cast<int64_t>(study.records.size()));
  TableRow row{study.title, {{}, {}, {}, runs, words(seeds_of(study))}};
  row.link = link_to(study);
  if (distances.empty()) return row;
  row.cells[0] = within(1.0);
  row.cells[1] = within(1.5);
  row.cells[2] = words(distances.front().name + ": " +
                       signed_fixed(distances.front().difference, 1));
  return row;
}

Table overview_table(const std::vector<Study>& studies,
                     const std::vector<Report>& reports) {
  Table table;
  table.name = "studies";
  table.row_header = "Study";
  table.columns = {{"Within 1.0", Better::kNeither},
                   {"Within 1.5", Better::kNeither},
                   {"Farthest", Better::kNeither},
                   {"Runs", Better::kNeither, 0},
                   {"Seeds", Better::kNeither}};
  for (size_t i = 0; i < studies.size(); ++i)
    table.rows.push_back(study_row(studies[i], reports[i]));
  table.notes = {
      "Within: of the averages over a scenario's corruptions that the paper "
      "has too, how many lie within so many points of it."};
  return table;
}

// A study in the index: its averages, as far as they fill one table per dataset
// and preset.
Section study_section(const Study& study, const Report& report) {
  Section section;
  section.title = study.title;
  section.link = link_to(study);
  section.paragraphs = report.paragraphs;
  for (const Section& part : report.sections)
    if (!part.tables.empty()) {
      Table table = part.tables.front();
      table.name = study.name + "/" + table.name;
      table.title += ", " + part.title;
      section.tables.push_back(std::move(table));
    }
  return section;
}

}  // namespace

Report make_study_report(const Study& study, const DefaultOptions& defaults) {
  Report report = make_report(study.records, defaults);
  report.title = study.title;
  report.parent = "../index";
  report.commands = study.commands;
  std::vector<std::string> paragraphs = study.about;
  const std::string distance = distance_text(paper_distances(report));
  if (!distance.empty()) paragraphs.push_back(distance);
  paragraphs.insert(paragraphs.end(), report.paragraphs.begin(),
                    report.paragraphs.end());
  if (!study.machine.empty())
    paragraphs.back() += " On: " + study.machine + ".";
  report.paragraphs = std::move(paragraphs);
  return report;
}

Report make_index(const std::vector<Study>& studies,
                  const DefaultOptions& defaults) {
  std::vector<Report> reports;
  for (const Study& study : studies)
    reports.push_back(make_study_report(study, defaults));
  Report index;
  index.title = "Test-time adaptation: studies";
  index.file = "index";
  index.sections.push_back(
      {"Overview", {}, {overview_table(studies, reports)}});
  for (size_t i = 0; i < studies.size(); ++i)
    index.sections.push_back(study_section(studies[i], reports[i]));
  return index;
}

}  // namespace sotta
