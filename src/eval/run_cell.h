#pragma once

#include "sotta/eval/workbench.h"

#include "engine/lane_group.h"

namespace sotta {

// The public run_cell(), with the stream as one of the group's lanes.
RunResult run_cell(const Cell& cell, Workbench& bench,
                   const ProgressCallback& progress, LaneGroup& lanes);

}  // namespace sotta
