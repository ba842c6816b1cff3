#pragma once

#include <filesystem>
#include <vector>

#include "sotta/report/study.h"

namespace sotta::cli {

// The studies of a folder: each of its folders that holds records, in folders
// of its own too, is one. A file study.toml beside the records may say what
// they are: title, about, command and machine, texts or lists of texts, and
// order, a number by which the studies are sorted before their names.
//
// Throws Error: kNotFound if there is no such folder or no study in it,
// kBadFormat for other keys and what read_config() refuses, and what
// read_record_folder() throws.
std::vector<Study> read_studies(const std::filesystem::path& folder);

}  // namespace sotta::cli
