#include "sotta/core/options.h"
#include "sotta/report/report.h"

#include "core/atomic_file.h"
#include "core/output_place.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

using Writer = std::string (*)(const Report&);

const std::vector<std::pair<std::string, Writer>>& writers() {
  static const std::vector<std::pair<std::string, Writer>> kWriters = {
      {"md", to_markdown},
      {"tex", to_latex},
      {"csv", to_csv},
      {"html", to_html},
      {"svg", nullptr}};  // the figures, in files of their own
  return kWriters;
}

Writer find_writer(const std::string& format) {
  for (const auto& [name, writer] : writers())
    if (name == format) return writer;
  fail_unknown_name("report format", format, report_formats());
}

using Files = std::vector<std::pair<fs::path, std::string>>;

void add_figures(const Report& report, const fs::path& folder, Files& files) {
  for (const Section& section : report.sections)
    for (const Figure& figure : section.figures)
      if (!figure.page_only)
        files.emplace_back(folder / (figure.name + ".svg"), to_svg(figure));
}

}  // namespace

std::vector<std::string> report_formats() {
  std::vector<std::string> names;
  for (const auto& entry : writers())
    names.push_back(entry.first);
  return names;
}

std::vector<fs::path> write_report(const Report& report, const fs::path& folder,
                                   const std::vector<std::string>& formats) {
  Files files;
  bool figures = false;
  for (const auto& format : formats) {
    if (const Writer writer = find_writer(format))
      files.emplace_back(folder / (report.file + "." + format), writer(report));
    figures = figures || format == "svg" || format == "md";
  }
  if (figures) add_figures(report, folder / "figures", files);
  for (const auto& entry : files)
    make_folder(entry.first.parent_path());
  std::vector<fs::path> written;
  for (const auto& [file, text] : files) {
    replace_file(file, text);
    written.push_back(file);
  }
  return written;
}

}  // namespace sotta
