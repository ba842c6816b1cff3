#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"
#include "sotta/report/figure.h"
#include "sotta/report/table.h"

namespace sotta {

struct Section {
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<Table> tables;
  std::vector<Figure> figures = {};
  std::string link = {};  // a document about it, without ".html" or ".md"
};

// Everything a document says, before it is one: the formats differ only in how
// they spell it. All texts are plain; the formats escape them.
struct Report {
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<Section> sections;
  std::vector<std::string> commands = {};  // that made the records
  std::string file = "report";             // its name, without an ending
  std::string parent = {};  // a document above it, without ".html" or ".md"
};

// The options that runs like this one have when nobody sets any. Commands name
// the others; without this function, all.
using DefaultOptions = std::function<OptionMap(const RunRecord&)>;

// All tables and figures that the records have data for, beside the paper's
// numbers. The same records give the same report.
Report make_report(const std::vector<RunRecord>& records,
                   const DefaultOptions& defaults = {});

// Whole documents.
std::string to_markdown(const Report& report);  // shows figures/<name>.svg
std::string to_latex(const Report& report);     // tables; booktabs, longtable
std::string to_csv(const Report& report);       // a line per number of a table
std::string to_html(const Report& report);      // one page, needs nothing else

// "md", "tex", "csv", "html", "svg"
std::vector<std::string> report_formats();

// Writes <report.file>.<format> for each format into the folder, which is made
// if it is not there, and returns what was written. The figures go to
// figures/<name>.svg for "svg", and for "md", which shows them. A file that was
// there is replaced as a whole.
//
// Throws Error: kInvalid for an unknown format, before anything is written; kIo
// if the system refuses.
std::vector<std::filesystem::path> write_report(
    const Report& report, const std::filesystem::path& folder,
    const std::vector<std::string>& formats);

}  // namespace sotta
