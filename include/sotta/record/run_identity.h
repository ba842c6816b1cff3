#pragma once

#include <string>

#include "sotta/record/run_record.h"

namespace sotta {

// What identifies a run: everything that its result depends on, as one line of
// text, taken from the record alone. Two records with the same identity are of
// the same cell of a benchmark. The machine (device, threads), times and
// versions are no part of it: a benchmark may be continued elsewhere.
std::string run_identity(const RunRecord& record);

// The identity in 16 hexadecimal digits.
std::string short_identity(const std::string& identity);

}  // namespace sotta
