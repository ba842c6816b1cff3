#include "sotta/report/report.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "sotta/core/error.h"
#include "sotta/record/record_folder.h"

#include "commands.h"

namespace sotta::cli {
namespace {

struct ReportFlags {
  std::string runs;
  std::string out;
  std::string against;
  std::vector<std::string> formats = report_formats();
};

std::filesystem::path out_folder(const ReportFlags& flags) {
  if (!flags.out.empty()) return flags.out;
  const std::filesystem::path runs = flags.runs;
  return std::filesystem::is_directory(runs) ? runs / "report"
                                             : runs.parent_path() / "report";
}

std::vector<RunRecord> read_runs(const std::string& folder) {
  auto records = read_record_folder(folder, /*with_subfolders=*/true);
  if (records.empty())
    fail(ErrorKind::kNotFound, folder,
         "expected records in *.jsonl files, found none");
  return records;
}

void run(const ReportFlags& flags) {
  const auto records = read_runs(flags.runs);
  Report report = make_report(records);
  if (!flags.against.empty())
    report.sections.insert(report.sections.begin(),
                           compare_runs(records, read_runs(flags.against)));
  for (const auto& file :
       write_report(report, out_folder(flags), flags.formats))
    std::cout << file.string() << "\n";
}

}  // namespace

void add_report(CLI::App& program) {
  auto* command = program.add_subcommand(
      "report", "tables and figures of recorded runs, beside the paper's");
  auto flags = std::make_shared<ReportFlags>();
  command
      ->add_option("runs", flags->runs,
                   "folder of records (*.jsonl), or a file")
      ->required();
  command->add_option("--out", flags->out,
                      "folder of the report [report/ in the runs' folder]");
  command->add_option("--format", flags->formats, "md, tex, csv, html, svg")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--against", flags->against,
                      "folder of other records: say what changed");
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
