#include "sotta/report/report.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "sotta/core/error.h"
#include "sotta/record/record_folder.h"
#include "sotta/report/comparison.h"

#include "commands.h"
#include "eval/default_options.h"
#include "flags.h"
#include "study_folder.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::string runs;
  std::string out;
  std::string against;
  std::vector<std::string> compared;
  bool studies = false;
  std::vector<std::string> formats = report_formats();
  std::set<std::string> given;
};

fs::path out_folder(const ReportFlags& flags) {
  if (!flags.out.empty()) return flags.out;
  const fs::path runs = flags.runs;
  return fs::is_directory(runs) ? runs / "report"
                                : runs.parent_path() / "report";
}

std::vector<RunRecord> read_runs(const std::string& folder) {
  auto records = read_record_folder(folder, /*with_subfolders=*/true);
  if (records.empty())
    fail(ErrorKind::kNotFound, folder,
         "expected records in *.jsonl or *.jsonl.gz files, found none");
  return records;
}

void write(const Report& report, const fs::path& folder,
           const std::vector<std::string>& formats) {
  for (const auto& file : write_report(report, folder, formats))
    std::cout << file.string() << "\n";
}

void report_runs(const ReportFlags& flags) {
  const auto records = read_runs(flags.runs);
  Report report = make_report(records, default_options);
  if (!flags.against.empty())
    report.sections.insert(
        report.sections.begin(),
        compare_runs(records, read_runs(flags.against)).section);
  write(report, out_folder(flags), flags.formats);
}

// Everything is read before anything is written.
void report_studies(const ReportFlags& flags) {
  const auto studies = read_studies(flags.runs);
  const fs::path out = out_folder(flags);
  for (const Study& study : studies)
    write(make_study_report(study, default_options), out / study.name,
          flags.formats);
  std::vector<std::string> pages;
  for (const auto& format : flags.formats)
    if (format == "html" || format == "md") pages.push_back(format);
  write(make_index(studies, default_options), out, pages);
}

// Without a folder to write to, on the screen.
void report_comparison(const ReportFlags& flags) {
  const std::string& first = flags.compared.at(0);
  const std::string& second = flags.compared.at(1);
  std::error_code problem;
  require(!fs::equivalent(first, second, problem), "--compare",
          "expected two folders, got " + first + " twice");
  const Report report =
      compare_sides(first, read_runs(first), second, read_runs(second));
  if (flags.out.empty())
    std::cout << to_markdown(report);
  else
    write(report, flags.out, flags.formats);
}

void run(const ReportFlags& flags) {
  const bool compares = !flags.compared.empty();
  require(compares == flags.runs.empty(), "report",
          "expected a folder of records, or --compare with two");
  require(!compares || (flags.against.empty() && !flags.studies), "--compare",
          "expected neither --against nor --studies beside it");
  require(flags.against.empty() || !flags.studies, "--against",
          "expected no --studies beside it");
  if (compares && flags.out.empty())
    require_effect(false, flags.given, {"--format"}, "--out");
  if (compares) return report_comparison(flags);
  flags.studies ? report_studies(flags) : report_runs(flags);
}

}  // namespace

void add_report(CLI::App& program) {
  auto* command = program.add_subcommand(
      "report", "tables and figures of recorded runs, beside the paper's");
  auto flags = std::make_shared<ReportFlags>();
  command->add_option("runs", flags->runs,
                      "folder of records (*.jsonl, *.jsonl.gz), or a file");
  command->add_option("--out", flags->out,
                      "folder of the report [report/ in the runs' folder]");
  command->add_option("--format", flags->formats, "md, tex, csv, html, svg")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--against", flags->against,
                      "folder of other records: say what changed");
  command
      ->add_option("--compare", flags->compared,
                   "two folders of records: what changed from the first to the "
                   "second, and nothing else; on the screen without --out")
      ->expected(2);
  command->add_flag("--studies", flags->studies,
                    "a report of each folder in the runs' folder, and an index "
                    "of them");
  command->callback([command, flags] {
    flags->given = given_flags(*command);
    run(*flags);
  });
}

}  // namespace sotta::cli
