#include "report/tables/paper_distance.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/tables/number_text.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

void add_distances(const Table& table, const std::string& section,
                   std::set<std::string>& seen,
                   std::vector<PaperDistance>& distances) {
  for (const TableRow& row : table.rows)
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const TableCell& cell = row.cells[i];
      const double difference = shown_difference(cell, table.columns[i].digits);
      if (table.columns[i].overall || std::isnan(difference)) continue;
      // A row may stand in the table of methods and in that of variants.
      const std::string name = row.name + " under " + table.columns[i].name;
      if (seen.insert(section + "/" + name).second)
        distances.push_back({name, difference});
    }
}

}  // namespace

double shown_difference(const TableCell& cell, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round((cell.value - cell.paper) * scale) / scale;
}

std::vector<PaperDistance> paper_distances(const Report& report) {
  std::vector<PaperDistance> distances;
  std::set<std::string> seen;
  for (const Section& section : report.sections)
    for (const Table& table : section.tables)
      if (!table.wide)  // those of single corruptions are
        add_distances(table, section.title, seen, distances);
  std::stable_sort(distances.begin(), distances.end(),
                   [](const PaperDistance& a, const PaperDistance& b) {
                     return std::abs(a.difference) > std::abs(b.difference);
                   });
  return distances;
}

int64_t count_within(const std::vector<PaperDistance>& distances,
                     double points) {
  constexpr double kRounding = 1e-9;
  return std::count_if(
      distances.begin(), distances.end(), [&](const PaperDistance& distance) {
        return std::abs(distance.difference) <= points + kRounding;
      });
}

std::string distance_text(const std::vector<PaperDistance>& distances) {
  constexpr size_t kMostNamed = 5;
  if (distances.empty()) return "";
  std::vector<std::string> names;
  for (const PaperDistance& distance : distances)
    if (names.size() < kMostNamed)
      names.push_back(distance.name + " (" +
                      signed_fixed(distance.difference, 1) + ")");
  return "Of " + counted(static_cast<int64_t>(distances.size()), "average") +
         " that the paper has too, " +
         std::to_string(count_within(distances, 1.0)) +
         " lie within 1.0 points of it and " +
         std::to_string(count_within(distances, 1.5)) +
         " within 1.5; the farthest: " + joined(names) + ".";
}

}  // namespace sotta
