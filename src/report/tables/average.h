#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sotta/report/table.h"

#include "report/run_groups.h"

namespace sotta {

// A number of a run; NaN if the run has none.
using Metric = std::function<double(const RunRecord&)>;

double accuracy(const RunRecord& run);

// Mean, spread and worst of one number per seed.
TableCell cell_of_seeds(const std::map<int64_t, double>& by_seed,
                        Better better);

// The metric over the seeds of one corruption.
TableCell corruption_cell(const RunRow& row, const std::string& scenario,
                          const std::string& corruption, const Metric& metric,
                          Better better);

// First the mean over corruptions within each seed, then over the seeds that
// have all of them, as in the paper. If no seed has, the mean of the
// corruptions' own means, marked as partial and without a spread.
TableCell average_cell(const RunRow& row, const std::string& scenario,
                       const std::vector<std::string>& corruptions,
                       const Metric& metric, Better better);

// The mean over these scenarios of what average_cell() gives for each, by the
// same rule.
TableCell overall_cell(const RunGroup& group, const RunRow& row,
                       const std::vector<std::string>& scenarios,
                       const Metric& metric, Better better);

// The mean over corruptions for every seed that has them all.
std::map<int64_t, double> seed_averages(
    const RunRow& row, const std::string& scenario,
    const std::vector<std::string>& corruptions, const Metric& metric);

}  // namespace sotta
