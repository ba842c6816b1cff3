#include "study_folder.h"

#include <algorithm>

#include "sotta/core/error.h"
#include "sotta/record/record_folder.h"

#include "config_entries.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

struct OrderedStudy {
  int64_t order = 0;
  Study study;
};

std::string only_value(const ConfigEntry& entry, const std::string& subject) {
  if (entry.values.size() != 1)
    fail(ErrorKind::kBadFormat, subject,
         "expected one value of " + entry.key + ", got " +
             std::to_string(entry.values.size()));
  return entry.values.front();
}

void take_entry(const ConfigEntry& entry, const std::string& subject,
                OrderedStudy& to) {
  if (entry.key == "title") {
    to.study.title = only_value(entry, subject);
  } else if (entry.key == "machine") {
    to.study.machine = only_value(entry, subject);
  } else if (entry.key == "about") {
    to.study.about = entry.values;
  } else if (entry.key == "command") {
    to.study.commands = entry.values;
  } else if (entry.key == "order") {
    to.order = std::get<int64_t>(parse_option(subject + " order",
                                              only_value(entry, subject),
                                              OptionValue(int64_t{0})));
  } else {
    fail(ErrorKind::kBadFormat, subject,
         "expected title, about, command, machine or order, got " + entry.key);
  }
}

void read_text(const fs::path& file, OrderedStudy& to) {
  if (!fs::exists(file)) return;
  for (const ConfigEntry& entry : read_config(file))
    take_entry(entry, line_subject(file.string(), entry.line), to);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry(folder, problem), end;
       !problem && entry != end; entry.increment(problem))
    if (entry->is_directory()) folders.push_back(entry->path());
  if (problem)
    fail(ErrorKind::kNotFound, folder.string(),
         "expected a folder of studies: " + problem.message());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

std::vector<Study> read_studies(const fs::path& folder) {
  std::vector<OrderedStudy> found;
  for (const auto& path : folders_in(folder)) {
    OrderedStudy one;
    one.study.records = read_record_folder(path, /*with_subfolders=*/true);
    if (one.study.records.empty()) continue;
    one.study.name = path.filename().string();
    one.study.title = one.study.name;
    read_text(path / "study.toml", one);
    found.push_back(std::move(one));
  }
  if (found.empty())
    fail(ErrorKind::kNotFound, folder.string(),
         "expected folders with records in *.jsonl or *.jsonl.gz files, found "
         "none");
  std::stable_sort(found.begin(), found.end(),
                   [](const OrderedStudy& a, const OrderedStudy& b) {
                     return a.order < b.order;
                   });
  std::vector<Study> studies;
  for (OrderedStudy& one : found)
    studies.push_back(std::move(one.study));
  return studies;
}

}  // namespace sotta::cli
