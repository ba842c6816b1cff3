#pragma once

#include <string>
#include <vector>

#include "sotta/report/report.h"
#include "sotta/report/table.h"

namespace sotta {

using Flags = std::vector<std::string>;  // each with its value

// The flags of `sotta bench` that make these runs of one row of a table again,
// as a shell reads them. An option has to be named if it is not a default. None
// if the runs were not made by `sotta bench`, or there are no runs.
Flags bench_flags(const std::vector<const RunRecord*>& runs,
                  const DefaultOptions& defaults);

// Gives a row the command of what all of its cells have in common, and each
// cell the rest. `flags` are those of the cells.
void set_commands(TableRow& row, const std::vector<Flags>& flags);

}  // namespace sotta
