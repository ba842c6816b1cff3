#include <gtest/gtest.h>

#include "sotta/report/study.h"

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

Study small_study(const std::string& name) {
  Study study;
  study.name = name;
  study.title = "The study " + name;
  study.about = {"What it is."};
  study.commands = {"sotta bench & more"};
  study.machine = "a small machine, in a minute";
  study.records = {run("tent", "noise", "fog", 0, 60),
                   run("sotta", "noise", "fog", 1, 80)};
  return study;
}

TEST(StudyReport, SaysWhatItIsAndHowFarFromThePaper) {
  const Report report = make_study_report(small_study("one"));
  EXPECT_EQ(report.title, "The study one");
  EXPECT_EQ(report.parent, "../index");
  EXPECT_EQ(report.commands.at(0), "sotta bench & more");
  ASSERT_EQ(report.paragraphs.size(), 3u);
  EXPECT_EQ(report.paragraphs[0], "What it is.");
  EXPECT_EQ(report.paragraphs[1].rfind("Of 2 averages that the paper has", 0),
            0u);
  EXPECT_EQ(report.paragraphs[2],
            "2 runs, made by sotta 0.1.0 with LibTorch 1.13.1. On: a small "
            "machine, in a minute.");
}

TEST(StudyReport, CommandsAreShownAsTheyAre) {
  const Report report = make_study_report(small_study("one"));
  EXPECT_NE(
      to_html(report).find("<pre><code>sotta bench &amp; more</code></pre>"),
      std::string::npos);
  EXPECT_NE(to_markdown(report).find("\n\n    sotta bench & more\n\n"),
            std::string::npos);
  EXPECT_NE(to_latex(report).find("\\texttt{sotta bench \\& more}"),
            std::string::npos);
}

TEST(Index, LeadsToEveryStudy) {
  const Report index =
      make_index({small_study("one"), small_study("two & a half")});
  EXPECT_EQ(index.file, "index");
  ASSERT_EQ(index.sections.size(), 3u);
  const Table& overview = index.sections[0].tables.at(0);
  ASSERT_EQ(overview.rows.size(), 2u);
  EXPECT_EQ(overview.rows[0].link, "one/report");
  EXPECT_EQ(overview.rows[0].cells[0].text, "0 of 2");
  EXPECT_EQ(cell_text(overview, overview.rows[0].cells[3], 3), "2");
  EXPECT_EQ(overview.rows[0].cells[4].text, "0, 1");
  EXPECT_EQ(index.sections[2].tables.at(0).name,
            "two & a half/cifar10/clean/accuracy");
  EXPECT_NE(to_html(index).find("<h2><a href=\"two%20%26%20a%20half/"
                                "report.html\">The study two &amp; a half"
                                "</a></h2>"),
            std::string::npos);
  EXPECT_NE(to_markdown(index).find("| [The study one](one/report.md) |"),
            std::string::npos);
}

TEST(Index, AStudyThatThePaperDoesNotHaveIsNotCompared) {
  Study study = small_study("one");
  for (RunRecord& record : study.records)
    record.dataset = "fashion-mnist";
  const Report index = make_index({study});
  const TableRow& row = index.sections[0].tables.at(0).rows.at(0);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(row.cells[i].missing());
}

}  // namespace
}  // namespace sotta
