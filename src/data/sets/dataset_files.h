#pragma once

#include <filesystem>
#include <string>

#include "data/sets/catalog.h"

namespace sotta {

// Where a file of the catalogue lies under the data root, or else in the
// dataset's system folder; an empty path if it is nowhere. Only looks, reads
// nothing.
std::filesystem::path locate(const DatasetEntry& entry, const DatasetFile& file,
                             const std::filesystem::path& root);

// The path a file should have under the data root, as it is published.
std::filesystem::path expected_path(const DatasetEntry& entry,
                                    const DatasetFile& file,
                                    const std::filesystem::path& root);

enum class FileState { kOk, kMissing, kDamaged };

struct FileCheck {
  FileState state;
  std::filesystem::path path;  // where it lies, or where it is expected
  std::string problem;         // a clause; empty if all is well
};

// Reads the whole file and compares it with what its publisher put out: size,
// and checksum where one is known; shapes of arrays; numbers of classes and
// images in folders. Throws Error(kUnsupported) only, where this build cannot
// read the format; every other trouble is part of the result.
FileCheck check_file(const DatasetEntry& entry, const DatasetFile& file,
                     const std::filesystem::path& root);

// One sentence's end on where a dataset comes from, for error messages.
std::string origin_hint(const DatasetEntry& entry);

}  // namespace sotta
