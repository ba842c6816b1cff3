#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sotta/report/report.h"

namespace sotta {

// "md", "tex", "csv", "html", "svg"
std::vector<std::string> report_formats();

// Writes report.<format> for each format into the folder, which is made if it
// is not there, and returns what was written. The figures go to
// figures/<name>.svg for "svg", and for "md", which shows them. A file that was
// there is replaced as a whole.
//
// Throws Error: kInvalid for an unknown format, before anything is written; kIo
// if the system refuses.
std::vector<std::filesystem::path> write_report(
    const Report& report, const std::filesystem::path& folder,
    const std::vector<std::string>& formats);

}  // namespace sotta
