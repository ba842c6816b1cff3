#pragma once

#include <filesystem>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// Appends one line; the file and its folder are made if they are not there. The
// line is written in one piece, after what a crash may have left half-written
// has been cut off, and has reached the disk when this returns. Throws
// Error(kIo) if the system refuses, and Error(kBadFormat) rather than cut off
// what is no record's beginning.
void append_record(const std::filesystem::path& file, const RunRecord& record);

// For asking before long work whether a record of it can be appended. Makes the
// file's folder. Throws Error(kIo) if the system refuses, Error(kBadFormat) if
// the file holds something else than records, and Error(kInvalid) for .gz.
void check_appendable(const std::filesystem::path& file);

// The most bytes of records that a compressed file may unpack to: a full table
// of three seeds with all its series has 150 MB.
constexpr size_t kMostUnpackedRecords = size_t{256} << 20;

// All records of a file in their order; one whose name ends in .gz is unpacked
// first. Half a record at the end was cut off by a crash and is left out.
// Throws Error(kNotFound) if there is no file, Error(kIo) if it cannot be read,
// Error(kBadFormat) with the line's number for any other line that is not a
// record, for damaged gzip data and for data that unpacks to more than `most`
// bytes, and Error(kUnsupported) for .gz in a build without zlib.
std::vector<RunRecord> read_records(const std::filesystem::path& file,
                                    size_t most = kMostUnpackedRecords);

}  // namespace sotta
