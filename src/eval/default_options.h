#pragma once

#include "sotta/core/options.h"
#include "sotta/record/run_record.h"

namespace sotta {

// The options that a benchmark's run of this method, preset, dataset and
// scenario has when nobody sets any, as a record holds them. None for names
// that this version does not know.
OptionMap default_options(const RunRecord& record);

}  // namespace sotta
