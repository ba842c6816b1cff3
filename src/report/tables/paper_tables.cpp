#include "report/tables/paper_tables.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "report/names.h"
#include "report/tables/number_text.h"

namespace sotta {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const Json& tables() {
  static const Json kTables = Json::parse(paper_tables_json());
  return kTables;
}

// The paper's name of a dataset, corrupted or to be corrupted.
std::string table_name(const std::string& dataset) {
  const bool corrupted = !dataset.empty() && dataset.back() == 'c';
  return corrupted ? dataset : dataset + "c";
}

// Walks down by keys; null where one is missing.
Json at_path(const Json& root, const std::vector<std::string>& path) {
  const Json* value = &root;
  for (const auto& key : path) {
    const auto found = value->find(key);
    if (!value->is_object() || found == value->end()) return {};
    value = &*found;
  }
  return *value;
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : kNone;
}

std::string row_name(const std::string& method) {
  return method == "pseudo_label" ? "pl" : method;
}

// A cell of a table with "columns" and "rows".
double mean_of(const std::string& table, const std::string& row,
               const std::string& column) {
  const Json columns = at_path(tables(), {table, "columns"});
  const Json means = at_path(tables(), {table, "rows", row, "mean"});
  for (size_t i = 0; i < columns.size() && i < means.size(); ++i)
    if (columns[i] == column) return number(means[i]);
  return kNone;
}

double mean_of_cells(const std::string& dataset, const std::string& scenario,
                     const std::string& method,
                     const std::vector<std::string>& corruptions) {
  double sum = 0;
  for (const auto& corruption : corruptions)
    sum += paper_accuracy(dataset, scenario, method, corruption);
  return sum / static_cast<double>(corruptions.size());
}

double stated_average(const std::string& dataset, const std::string& scenario,
                      const std::string& method) {
  const std::string table = table_name(dataset);
  const double detailed =
      number(at_path(tables(), {table, scenario, row_name(method), "avg"}));
  return std::isnan(detailed) ? mean_of(table, row_name(method), scenario)
                              : detailed;
}

bool names_odin(std::string variant) {
  std::transform(variant.begin(), variant.end(), variant.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return variant.find("odin") != std::string::npos;
}

const std::vector<std::string> kAblations = {"ablation_components_cifar10c",
                                             "ablation_memory_cifar10c"};

}  // namespace

double paper_accuracy(const std::string& dataset, const std::string& scenario,
                      const std::string& method,
                      const std::string& corruption) {
  return number(
      at_path(tables(), {table_name(dataset), scenario, row_name(method),
                         "per_corruption", corruption}));
}

double paper_average(const std::string& dataset, const std::string& scenario,
                     const std::string& method,
                     const std::vector<std::string>& corruptions) {
  if (corruptions == paper_corruptions())
    return stated_average(dataset, scenario, method);
  return mean_of_cells(dataset, scenario, method, corruptions);
}

double paper_variant(const std::string& dataset, const std::string& scenario,
                     const std::string& method, const std::string& variant) {
  if (table_name(dataset) != "cifar10c") return kNone;
  if (names_odin(variant))
    return mean_of("odin_cifar10c", row_name(method), scenario + "_with_odin");
  if (method != "sotta") return kNone;
  for (const auto& table : kAblations) {
    const double value = mean_of(table, variant, scenario);
    if (!std::isnan(value)) return value;
  }
  return kNone;
}

std::vector<std::string> paper_variants() {
  std::vector<std::string> names;
  for (const auto& table : kAblations) {
    const Json rows = at_path(tables(), {table, "rows"});
    for (const auto& row : rows.items())
      names.push_back(row.key());
  }
  return names;
}

std::vector<std::string> paper_slips(const std::string& dataset) {
  // Cells and average are rounded to one digit: more than this is no rounding.
  constexpr double kRounding = 0.1;
  std::vector<std::string> notes;
  const Json table = at_path(tables(), {table_name(dataset)});
  for (const auto& [scenario, methods] : table.items()) {
    for (const auto& [method, row] : methods.items()) {
      if (!row.contains("avg")) continue;
      const double stated = number(row["avg"]);
      const double cells =
          mean_of_cells(dataset, scenario, method, paper_corruptions());
      if (std::abs(stated - cells) <= kRounding) continue;
      notes.push_back(
          "The paper states " + fixed(stated, 1) + " for " +
          method_label(method) + " under " + scenario_label(scenario) +
          "; the cells of its own table average " + fixed(cells, 1) + ".");
    }
  }
  return notes;
}

}  // namespace sotta
