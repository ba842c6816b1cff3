#pragma once

#include <string>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// What identifies a run: the command and everything that its result depends on,
// as one line of text, taken from the record alone. Two records with the same
// identity are of the same run, such as a cell of a benchmark. A model is known
// by its checksum, or else by its file's name. The machine (device, threads),
// times and versions are no part of it: a benchmark may be continued elsewhere.
std::string run_identity(const RunRecord& record);

// The identity in 16 hexadecimal digits.
std::string short_identity(const std::string& identity);

// Of several records with the same identity the last alone: two processes may
// have run the same cell, or a cell was run again.
std::vector<RunRecord> last_of_each(std::vector<RunRecord> records);

}  // namespace sotta
