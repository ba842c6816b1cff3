#include "sotta/record/record_folder.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "sotta/core/error.h"
#include "sotta/core/version.h"
#include "sotta/record/record_file.h"

#include "core/output_place.h"
#include "record/run_identity.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

bool holds_records(fs::path file) {
  if (file.extension() == ".gz") file = file.stem();
  return file.extension() == ".jsonl";
}

std::vector<fs::path> record_files(const fs::path& folder,
                                   bool with_subfolders) {
  std::error_code problem;
  if (fs::is_regular_file(folder, problem)) return {folder};
  if (!fs::is_directory(folder, problem))
    fail(ErrorKind::kNotFound, folder.string(),
         "expected a folder of records, found none");
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::recursive_directory_iterator();
       entry.increment(problem)) {
    if (!with_subfolders) entry.disable_recursion_pending();
    if (holds_records(entry->path())) files.push_back(entry->path());
  }
  if (problem)
    fail(ErrorKind::kIo, folder.string(),
         "the folder cannot be read: " + problem.message());
  std::sort(files.begin(), files.end());
  return files;
}

void check_versions(const std::vector<RunRecord>& records,
                    const fs::path& folder) {
  for (const auto& record : records)
    if (record.version != version())
      fail(ErrorKind::kBadFormat, folder.string(),
           "holds records of sotta " + record.version + ", this is " +
               version() +
               "; choose another folder, or give --any-version to keep both "
               "in one");
}

}  // namespace

std::vector<RunRecord> read_record_folder(const fs::path& folder,
                                          bool with_subfolders) {
  std::vector<RunRecord> records;
  for (const auto& file : record_files(folder, with_subfolders))
    for (auto& record : read_records(file))
      records.push_back(std::move(record));
  return last_of_each(std::move(records));
}

RecordFolder::RecordFolder(const fs::path& folder, const std::string& writer,
                           bool any_version)
    : file_(folder /
            ("records" + (writer.empty() ? "" : "-" + writer) + ".jsonl")) {
  make_folder(folder);
  take_file();
  try {
    check_appendable(file_);
    earlier_ = read_record_folder(folder);
    if (!any_version) check_versions(earlier_, folder);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  for (const auto& record : earlier_)
    identities_.insert(run_identity(record));
}

RecordFolder::~RecordFolder() {
  close(descriptor_);
}

void RecordFolder::take_file() {
  descriptor_ =
      open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_to_write(file_, errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  fail(ErrorKind::kIo, file_.string(),
       "is being written by another process; wait for it, or choose another "
       "folder");
}

bool RecordFolder::has(const std::string& identity) const {
  const std::lock_guard lock(mutex_);
  return identities_.count(identity) > 0;
}

void RecordFolder::append(const RunRecord& record) {
  const std::lock_guard lock(mutex_);
  const std::string identity = run_identity(record);
  if (identities_.count(identity) > 0) return;
  append_record(file_, record);
  while (fsync(descriptor_) != 0)
    if (errno != EINTR) fail_to_write(file_, errno);
  identities_.insert(identity);
}

}  // namespace sotta
