#pragma once

#include <vector>

#include "sotta/report/table.h"

#include "report/run_groups.h"

namespace sotta {

// Methods against scenarios, each an average over corruptions; no table if
// there are no main rows.
std::vector<Table> scenario_tables(const RunGroup& group);

// For every scenario methods against corruptions; none where there is but one.
std::vector<Table> corruption_tables(const RunGroup& group);

// For every method with named variants these against scenarios, as far as they
// have usual settings.
std::vector<Table> variant_tables(const RunGroup& group);

// The settings that were tried out against scenarios, below the usual ones of
// the same method; no table if there are none.
std::vector<Table> setting_tables(const RunGroup& group);

}  // namespace sotta
