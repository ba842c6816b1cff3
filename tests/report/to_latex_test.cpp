#include <gtest/gtest.h>

#include "tests/report/small_report.h"

namespace sotta {
namespace {

TEST(ToLatex, TableIsThisText) {
  const std::string text = to_latex(testing::small_report());
  const size_t begin = text.find("\\begin{tabular}");
  const size_t end = text.find("\\end{table}");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(text.substr(begin, end - begin), R"(\begin{tabular}{lrr}
\toprule
Method & A \& B & \textless{}C\textgreater{} \\
\midrule
my\_method & \textbf{82.3 $\pm$ 0.2} & --- \\
\quad\scriptsize worst seed & \scriptsize 82.0 &  \\
\quad\scriptsize paper (difference) & \scriptsize 82.2 (+0.1) &  \\
50\% & 70.0* & a|b, "c" \\
\quad\scriptsize average over & \scriptsize 3 of 15 &  \\
\bottomrule
\end{tabular}
)");
}

TEST(ToLatex, LongTablesGoOnOverPages) {
  Report report = testing::small_report();
  Table& table = report.sections[0].tables[0];
  EXPECT_EQ(to_latex(report).find("\\begin{longtable}"), std::string::npos);
  for (int i = 0; i < 60; ++i)
    table.rows.push_back(table.rows[0]);
  const std::string text = to_latex(report);
  EXPECT_NE(text.find("\\begin{longtable}{lrr}\n\\caption{"),
            std::string::npos);
  EXPECT_NE(text.find("\\midrule\n\\endhead\nmy\\_method"), std::string::npos);
  EXPECT_EQ(text.find("\\begin{table}"), std::string::npos);
}

TEST(ToLatex, IsAWholeDocument) {
  const std::string text = to_latex(testing::small_report());
  EXPECT_EQ(text.rfind("\\documentclass{article}\n", 0), 0u);
  EXPECT_NE(text.find("\\usepackage{booktabs}"), std::string::npos);
  EXPECT_NE(text.find("\\section*{odd\\_set}"), std::string::npos);
  EXPECT_NE(text.find("\\caption{Accuracy (\\%), odd\\_set. 3 seeds."),
            std::string::npos);
  EXPECT_NE(text.find("\\end{document}\n"), std::string::npos);
}

TEST(ToLatex, ATableOfAPageDoesNotGoOn) {
  Report report = testing::small_report();
  Table& table = report.sections[0].tables[0];
  table.rows = {45, {"row", {TableCell(), TableCell()}}};
  EXPECT_EQ(to_latex(report).find("longtable}{lrr}"), std::string::npos);
  table.rows.push_back(table.rows[0]);
  EXPECT_NE(to_latex(report).find("longtable}{lrr}"), std::string::npos);
}

TEST(ToLatex, WhatStandsAroundATableIsThisText) {
  Report report = testing::small_report();
  report.sections[0].paragraphs = {"One & two."};
  const std::string text = to_latex(report);
  const size_t begin = text.find("\\begin{document}");
  EXPECT_EQ(text.substr(begin, text.find("\\begin{tabular}") - begin),
            R"(\begin{document}
\title{Results}
\date{}
\author{}
\maketitle

Two runs.

\section*{odd\_set}

One \& two.

\begin{table}[htbp]
\centering\small
\caption{Accuracy (\%), odd\_set. 3 seeds. $\pm$ is the sample standard deviation over seeds, worst the worst seed. Bold: the best of its column. paper: the number that the paper states, and ours minus it. *: no seed has all corruptions that this average should be over; it is over "n of m" and does not compete for the best. ---: not run, or not measured.}
)");
  EXPECT_EQ(text.substr(text.find("\\end{tabular}")),
            "\\end{tabular}\n\\end{table}\n\n\\clearpage\n\n\\end{document}\n");
  report.sections[0].tables[0].wide = true;
  EXPECT_NE(to_latex(report).find(
                "\\centering\\setlength{\\tabcolsep}{2pt}\\scriptsize\n"),
            std::string::npos);
}

}  // namespace
}  // namespace sotta
