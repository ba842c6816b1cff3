#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"
#include "sotta/report/report.h"

namespace sotta {

// What changed in accuracy from one set of runs to another.
struct Comparison {
  Section section;
  int64_t shared = 0;   // averages and single corruptions that both have
  int64_t changed = 0;  // of the averages, beyond the noise
};

// From the other records to these: beyond the noise of seeds or, where one side
// has a single seed, of the number of images; and what only one side has.
Comparison compare_runs(const std::vector<RunRecord>& records,
                        const std::vector<RunRecord>& others);

// A report of the comparison alone, with what the two sides were run on.
// `first` and `second` are what the sides are called. Throws Error(kInvalid) if
// they have no cell in common.
Report compare_sides(const std::string& first,
                     const std::vector<RunRecord>& first_records,
                     const std::string& second,
                     const std::vector<RunRecord>& second_records);

}  // namespace sotta
