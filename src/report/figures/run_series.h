#pragma once

#include <limits>
#include <string>
#include <vector>

#include "report/figures/line_chart.h"
#include "report/run_groups.h"

namespace sotta {

using Numbers = std::vector<double>;

// The runs of a row under a scenario that have all of these series, each with
// at least one number.
std::vector<const RunRecord*> runs_with(const RunRow& row,
                                        const std::string& scenario,
                                        const std::vector<std::string>& series);

// A series summed over runs, up to the length of the shortest. NaN counts as
// nothing.
Numbers summed(const std::vector<const RunRecord*>& runs,
               const std::string& series);

// Likewise the mean of the numbers there are; NaN where there are none.
Numbers averaged(const std::vector<const RunRecord*>& runs,
                 const std::string& series);

// Percent correct of all samples up to each window, averaged over runs.
Numbers cumulative_accuracy(const std::vector<const RunRecord*>& runs);

// 100 * part / whole; NaN where the whole is 0. At most `most` points, each
// over several windows then, so that a long stream can be read.
std::vector<CurvePoint> share_over_time(const Numbers& part,
                                        const Numbers& whole, size_t most);

// Window numbers from 1 on. Of more than `most` values every n-th and the last.
std::vector<CurvePoint> over_time(
    const Numbers& values, size_t most = std::numeric_limits<size_t>::max());

}  // namespace sotta
