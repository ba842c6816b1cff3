#pragma once

#include <filesystem>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// The records of all *.jsonl files of a folder and of the folders in it, in the
// order of the files' paths, or of one such file. A run that was recorded more
// than once counts once; its last record is kept. Versions, device, engine and
// the number of threads do not make it another run.
//
// Throws Error: kNotFound if there is no such folder or nothing recorded in it,
// kBadFormat with file and line for what is not a record of this version.
std::vector<RunRecord> read_run_folder(const std::filesystem::path& folder);

}  // namespace sotta
