#pragma once

#include <vector>

#include "sotta/report/table.h"

#include "report/run_groups.h"

namespace sotta {

// For every scenario what the methods admitted, how well their confidence tells
// foreign samples from the others, and how far it can be trusted.
std::vector<Table> screening_tables(const RunGroup& group);

}  // namespace sotta
