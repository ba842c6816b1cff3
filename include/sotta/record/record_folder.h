#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"

namespace sotta {

// The records of all *.jsonl and *.jsonl.gz files of a folder, and
// `with_subfolders` of the folders in it, in the order of the files' paths; or
// of one such file. Of several records with the same identity the last is
// taken: two processes may have run the same cell. Throws Error(kNotFound) if
// there is no such folder, Error(kIo) if it cannot be read, and what
// read_records() throws.
std::vector<RunRecord> read_record_folder(const std::filesystem::path& folder,
                                          bool with_subfolders = false);

// A folder that a benchmark's records go to, one file per process. What it
// holds at the start is what is done already.
//
// All methods may run at once.
class RecordFolder {
 public:
  // Makes the folder if there is none and takes its file: "records.jsonl", or
  // "records-WRITER.jsonl". Fails now rather than after the first cell: throws
  // Error(kIo) if it cannot be written or another process has it,
  // Error(kBadFormat) if it holds anything else than records of this version.
  // `any_version` lets other versions of the program pass, not other formats.
  RecordFolder(const std::filesystem::path& folder, const std::string& writer,
               bool any_version = false);
  ~RecordFolder();
  RecordFolder(const RecordFolder&) = delete;
  RecordFolder& operator=(const RecordFolder&) = delete;

  const std::filesystem::path& file() const { return file_; }

  // Of all files of the folder, when it was opened.
  const std::vector<RunRecord>& earlier() const { return earlier_; }

  // Is there a record of this identity, of then or since?
  bool has(const std::string& identity) const;

  // Writes the record through to the disk. One of an identity that is there
  // already is left out. Throws Error(kIo) if the disk is full; what is there
  // stays valid.
  void append(const RunRecord& record);

 private:
  void take_file();

  std::filesystem::path file_;
  int descriptor_ = -1;  // holds the lock
  std::vector<RunRecord> earlier_;

  mutable std::mutex mutex_;
  std::set<std::string> identities_;
};

}  // namespace sotta
