#include "sotta/report/run_folder.h"

#include <algorithm>
#include <system_error>

#include "sotta/core/error.h"
#include "sotta/record/record_file.h"
#include "sotta/record/run_identity.h"

#include "report/run_settings.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> record_files(const fs::path& folder) {
  std::error_code problem;
  if (fs::is_regular_file(folder, problem)) return {folder};
  if (!fs::is_directory(folder, problem))
    fail(ErrorKind::kNotFound, folder.string(),
         "expected a folder of records, found none");
  std::vector<fs::path> files;
  const auto skip = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator entry(folder, skip, problem);
  for (; !problem && entry != fs::recursive_directory_iterator();
       entry.increment(problem))
    if (entry->path().extension() == ".jsonl") files.push_back(entry->path());
  if (problem)
    fail(ErrorKind::kIo, folder.string(),
         "the folder cannot be read: " + problem.message());
  if (files.empty())
    fail(ErrorKind::kNotFound, folder.string(),
         "expected records in *.jsonl files, found no such file");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<RunRecord> read_run_folder(const fs::path& folder) {
  std::vector<RunRecord> records;
  for (const auto& file : record_files(folder)) {
    auto more = read_records(file);
    std::move(more.begin(), more.end(), std::back_inserter(records));
  }
  if (records.empty())
    fail(ErrorKind::kNotFound, folder.string(),
         "expected records, found only empty files");
  return last_of_each(std::move(records), run_key);
}

}  // namespace sotta
