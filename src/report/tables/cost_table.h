#pragma once

#include <vector>

#include "sotta/report/table.h"

#include "report/run_groups.h"

namespace sotta {

// Speed, time and memory of the methods, over all their runs in the group; no
// table if there are no main rows.
std::vector<Table> cost_tables(const RunGroup& group);

}  // namespace sotta
