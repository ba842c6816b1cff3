#pragma once

#include <string>
#include <vector>

#include "sotta/report/comparison.h"

namespace sotta {

// How tables head the columns of the two sides.
struct SideNames {
  std::string other = "Other";
  std::string these = "These";
  std::string only_other = "Only other";
  std::string only_these = "Only these";
};

// compare_runs() of comparison.h under other names.
Comparison compare_runs(const std::vector<RunRecord>& records,
                        const std::vector<RunRecord>& others,
                        const SideNames& sides);

}  // namespace sotta
