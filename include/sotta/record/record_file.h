#pragma once

#include <filesystem>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// Appends one line; the file and its folder are made if they are not there. The
// line is written in one piece, after what a crash may have left half-written
// has been cut off, and has reached the disk when this returns. Throws
// Error(kIo) if the system refuses.
void append_record(const std::filesystem::path& file, const RunRecord& record);

// All records of a file in their order. A last line without an end was cut off
// by a crash and is left out. Throws Error(kNotFound) if there is no file,
// Error(kBadFormat) with the line's number for any other line that is not a
// record.
std::vector<RunRecord> read_records(const std::filesystem::path& file);

}  // namespace sotta
