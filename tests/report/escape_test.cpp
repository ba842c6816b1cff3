#include "report/writers/escape.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Escape, Markdown) {
  EXPECT_EQ(escape_markdown("a_b*c|d<e>&`f`[g]\\"),
            "a\\_b\\*c\\|d&lt;e&gt;&amp;\\`f\\`\\[g\\]\\\\");
}

TEST(Escape, Latex) {
  EXPECT_EQ(escape_latex("50%_&#$ {x} ~^\\"),
            "50\\%\\_\\&\\#\\$ \\{x\\} \\textasciitilde{}\\textasciicircum{}"
            "\\textbackslash{}");
  EXPECT_EQ(escape_latex("1 ± 2 −3 — <>"),
            "1 $\\pm$ 2 $-$3 --- \\textless{}\\textgreater{}");
}

TEST(Escape, Html) {
  EXPECT_EQ(escape_html("<b a=\"1\">&'"),
            "&lt;b a=&quot;1&quot;&gt;&amp;&#39;");
}

TEST(Escape, Csv) {
  EXPECT_EQ(escape_csv("plain"), "plain");
  EXPECT_EQ(escape_csv("a,b"), "\"a,b\"");
  EXPECT_EQ(escape_csv("say \"x\""), "\"say \"\"x\"\"\"");
}

TEST(Escape, NothingBreaksALine) {
  EXPECT_EQ(escape_markdown("a\nb"), "a b");
  EXPECT_EQ(escape_latex("a\r\nb"), "a  b");
  EXPECT_EQ(escape_html(std::string("a\0b\x01", 4)), "a b ");
  EXPECT_EQ(escape_csv("a\nb"), "a b");
}

TEST(Escape, OtherLettersStay) {
  EXPECT_EQ(escape_html("Köln δ"), "Köln δ");
  EXPECT_EQ(escape_latex("Köln"), "Köln");
}

TEST(Escape, EveryLetterThatMeansSomething) {
  EXPECT_EQ(escape_markdown("~$"), "\\~\\$");
  EXPECT_EQ(escape_latex("2×3–4"), "2$\\times$3--4");
}

TEST(Escape, OnlyControlCharactersBecomeSpaces) {
  EXPECT_EQ(escape_html("\x1f|\x20|!|\x7e|\x7f"), " | |!|~| ");
}

TEST(EscapeUrl, KeepsWhatAPathMayHold) {
  EXPECT_EQ(escape_url("../cifar10-c/report_1.x~"), "../cifar10-c/report_1.x~");
  EXPECT_EQ(escape_url("a b:\"<é%"), "a%20b%3A%22%3C%C3%A9%25");
}

TEST(OneLine, HasNoLineEnds) {
  EXPECT_EQ(one_line("a\nb\tc <x>"), "a b c <x>");
}

}  // namespace
}  // namespace sotta
