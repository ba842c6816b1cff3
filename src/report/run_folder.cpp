#include "sotta/report/run_folder.h"

#include <algorithm>

#include "sotta/core/error.h"
#include "sotta/record/record_file.h"
#include "sotta/record/run_identity.h"

#include "report/run_settings.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> record_files(const fs::path& folder) {
  if (fs::is_regular_file(folder)) return {folder};
  if (!fs::is_directory(folder))
    fail(ErrorKind::kNotFound, folder.string(),
         "expected a folder of records, found none");
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
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
