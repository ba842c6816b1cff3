#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// What was chosen for a run beside its place in the tables (dataset, scenario,
// corruption, method, variant, preset, seed): its options, and fields such as
// the model. What cannot change a result is left out, and so are device and
// engine, which can change its last digits: a benchmark may be continued
// elsewhere.
using Settings = std::map<std::string, std::string>;
Settings settings_of(const RunRecord& record);

// The names of settings that differ between runs of one place in the tables,
// though not those that go with a variant: such settings were tried out.
std::set<std::string> varied_settings(
    const std::vector<const RunRecord*>& records);

// The same without regard to the variants' names.
std::set<std::string> varied_over_variants(
    const std::vector<const RunRecord*>& records);

}  // namespace sotta
