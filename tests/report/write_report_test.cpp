#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/report/report.h"

#include "tests/report/small_report.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;
using testing::small_report;
using testing::TempDir;

std::string content(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(WriteReport, WritesTheFormatsAskedFor) {
  const TempDir folder;
  const auto out = folder.path() / "a" / "b";
  const auto files = write_report(small_report(), out, {"md", "csv"});
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0], out / "report.md");
  EXPECT_EQ(files[2], out / "figures" / "set-clean-y.svg");
  EXPECT_EQ(content(out / "report.md"), to_markdown(small_report()));
  EXPECT_EQ(content(out / "report.csv"), to_csv(small_report()));
  EXPECT_FALSE(fs::exists(out / "report.html"));
}

TEST(WriteReport, FiguresAloneAreAFormatToo) {
  const TempDir folder;
  const auto files = write_report(small_report(), folder.path(), {"svg"});
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(content(files[0]), to_svg(small_report().sections[0].figures[0]));
}

TEST(WriteReport, APageAndNumbersNeedNoFilesOfFigures) {
  const TempDir folder;
  const auto files =
      write_report(small_report(), folder.path(), {"html", "csv", "tex"});
  EXPECT_EQ(files.size(), 3u);
  EXPECT_FALSE(fs::exists(folder.path() / "figures"));
}

TEST(WriteReport, ReplacesWhatWasThere) {
  const TempDir folder;
  std::ofstream(folder.path() / "report.md") << std::string(10000, 'x');
  write_report(small_report(), folder.path(), {"md"});
  EXPECT_EQ(content(folder.path() / "report.md"), to_markdown(small_report()));
  EXPECT_FALSE(fs::exists(folder.path() / "report.md.part"));
}

TEST(WriteReport, UnknownFormatWritesNothing) {
  const TempDir folder;
  EXPECT_THROW(
      write_report(small_report(), folder.path() / "out", {"md", "pdf"}),
      Error);
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
}

TEST(WriteReport, UnwritablePlaceIsAnError) {
  const TempDir folder;
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THROW(write_report(small_report(), folder.path() / "file", {"md"}),
               Error);
}

}  // namespace
}  // namespace sotta
