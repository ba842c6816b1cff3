#include "report/tables/average.h"

#include <algorithm>
#include <cmath>

#include "report/tables/statistics.h"

namespace sotta {
namespace {

using BySeed = std::map<int64_t, double>;

BySeed metric_by_seed(const RunRow& row, const std::string& scenario,
                      const std::string& corruption, const Metric& metric) {
  BySeed values;
  const auto& runs = row.in(scenario);
  const auto found = runs.find(corruption);
  if (found == runs.end()) return values;
  for (const auto& [seed, run] : found->second) {
    const double value = metric(*run);
    if (!std::isnan(value)) values[seed] = value;
  }
  return values;
}

// The mean of the parts for every seed that all parts have.
BySeed mean_over_parts(const std::vector<BySeed>& parts) {
  std::map<int64_t, std::vector<double>> collected;
  for (const BySeed& part : parts)
    for (const auto& [seed, value] : part)
      collected[seed].push_back(value);
  BySeed result;
  for (const auto& [seed, values] : collected)
    if (values.size() == parts.size()) result[seed] = mean(values);
  return result;
}

void count_runs_in(const std::vector<TableCell>& parts, TableCell& cell) {
  for (const TableCell& part : parts) {
    cell.covered += part.covered;
    cell.expected += part.expected;
  }
}

TableCell partial_cell(const std::vector<TableCell>& parts) {
  TableCell cell;
  std::vector<double> values;
  for (const TableCell& part : parts) {
    if (part.missing()) continue;
    values.push_back(part.value);
    cell.seeds = std::max(cell.seeds, part.seeds);
  }
  cell.partial = !values.empty();
  cell.value = mean(values);
  return cell;
}

// The average over parts, as a seed's if one has them all.
TableCell cell_of_parts(const std::vector<BySeed>& by_seed,
                        const std::vector<TableCell>& parts, Better better) {
  const BySeed complete = mean_over_parts(by_seed);
  TableCell cell =
      complete.empty() ? partial_cell(parts) : cell_of_seeds(complete, better);
  count_runs_in(parts, cell);
  return cell;
}

}  // namespace

double accuracy(const RunRecord& run) {
  return run.accuracy;
}

TableCell cell_of_seeds(const BySeed& by_seed, Better better) {
  std::vector<double> values;
  for (const auto& entry : by_seed)
    values.push_back(entry.second);
  TableCell cell;
  if (values.empty()) return cell;
  cell.value = mean(values);
  cell.by_seed = by_seed;
  cell.std = sample_std(values);
  cell.seeds = static_cast<int64_t>(values.size());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (better != Better::kNeither)
    cell.worst = better == Better::kHigher ? *least : *most;
  return cell;
}

TableCell corruption_cell(const RunRow& row, const std::string& scenario,
                          const std::string& corruption, const Metric& metric,
                          Better better) {
  TableCell cell =
      cell_of_seeds(metric_by_seed(row, scenario, corruption, metric), better);
  cell.covered = cell.missing() ? 0 : 1;
  cell.expected = 1;
  return cell;
}

BySeed seed_averages(const RunRow& row, const std::string& scenario,
                     const std::vector<std::string>& corruptions,
                     const Metric& metric) {
  std::vector<BySeed> parts;
  for (const auto& corruption : corruptions)
    parts.push_back(metric_by_seed(row, scenario, corruption, metric));
  return mean_over_parts(parts);
}

TableCell average_cell(const RunRow& row, const std::string& scenario,
                       const std::vector<std::string>& corruptions,
                       const Metric& metric, Better better) {
  std::vector<BySeed> by_seed;
  std::vector<TableCell> parts;
  for (const auto& corruption : corruptions) {
    by_seed.push_back(metric_by_seed(row, scenario, corruption, metric));
    parts.push_back(corruption_cell(row, scenario, corruption, metric, better));
  }
  return cell_of_parts(by_seed, parts, better);
}

TableCell overall_cell(const RunGroup& group, const RunRow& row,
                       const std::vector<std::string>& scenarios,
                       const Metric& metric, Better better) {
  std::vector<BySeed> by_seed;
  std::vector<TableCell> parts;
  for (const auto& scenario : scenarios) {
    const auto corruptions = group.averaged(scenario);
    by_seed.push_back(seed_averages(row, scenario, corruptions, metric));
    parts.push_back(average_cell(row, scenario, corruptions, metric, better));
  }
  return cell_of_parts(by_seed, parts, better);
}

}  // namespace sotta
