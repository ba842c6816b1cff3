#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// What identifies a run: everything that its result depends on, as one line of
// text, taken from the record alone. Two records with the same identity are of
// the same cell of a benchmark. The machine (device, threads), times and
// versions are no part of it: a benchmark may be continued elsewhere.
std::string run_identity(const RunRecord& record);

// The identity in 16 hexadecimal digits.
std::string short_identity(const std::string& identity);

// Of several records with the same key the last alone: two processes may have
// run the same cell, or a cell was run again.
std::vector<RunRecord> last_of_each(
    std::vector<RunRecord> records,
    const std::function<std::string(const RunRecord&)>& key);

}  // namespace sotta
