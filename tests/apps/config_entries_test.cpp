#include "config_entries.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

using testing::expect_error;
using testing::TempDir;
using Values = std::vector<std::string>;

std::vector<ConfigEntry> parse(const std::string& text) {
  return parse_config(text, "f.toml");
}

void expect_refused(const std::string& text, const std::string& part) {
  expect_error(ErrorKind::kBadFormat, part, [&] { parse(text); });
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += text;
  return all;
}

TEST(ConfigEntries, ValuesAreTheTextOneWouldType) {
  const auto entries = parse(
      "whole = -7\nhex = 0x10\nnumber = 5e-4\non = true\noff = false\n"
      "text = \"a \\\"b\\\"\"\nraw = 'c:\\d'\n");
  ASSERT_EQ(entries.size(), 7u);
  const Values expected = {"-7",    "16",      "5e-04", "true",
                           "false", "a \"b\"", "c:\\d"};
  for (size_t i = 0; i < entries.size(); ++i)
    EXPECT_EQ(entries[i].values, Values{expected[i]}) << entries[i].key;
}

TEST(ConfigEntries, KeysKeepTheirOrderAndKnowTheirLine) {
  const auto entries = parse("\n# first\nz = 1\n\na = 2\nm = 3 # last\n");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].key, "z");
  EXPECT_EQ(entries[1].key, "a");
  EXPECT_EQ(entries[2].key, "m");
  EXPECT_EQ(entries[0].line, 3);
  EXPECT_EQ(entries[1].line, 5);
  EXPECT_EQ(entries[2].line, 6);
}

TEST(ConfigEntries, AListMayBeginOnTheNextLine) {
  const auto entries = parse(
      "seeds = [\n  0, # the first\n  1,\n]\nmethod = [\"a\",\n \"b\"]\n");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].values, (Values{"0", "1"}));
  EXPECT_EQ(entries[1].values, (Values{"a", "b"}));
}

TEST(ConfigEntries, AnUnclosedListIsRefusedWithItsLine) {
  expect_refused("jobs = 1\nseeds = [0, 1\nmethod = \"tent\"\n",
                 "f.toml line 3: expected TOML");
  expect_refused("seeds = [0, 1", "f.toml line 1: expected TOML");
}

TEST(ConfigEntries, AKeyThatIsSetTwiceIsRefused) {
  expect_refused("a = 1\nb = 2\na = 1\n", "f.toml line 3: expected TOML");
}

TEST(ConfigEntries, OnlyPlainValuesAndListsOfThemAreTaken) {
  expect_refused("a = 1\nd = 2020-01-02\n",
                 "f.toml line 2: d: expected a number, text, true or false, or "
                 "a list of these, got a date or time");
  expect_refused("t = 10:20:30\n", "got a date or time");
  expect_refused("a = 2020-01-02T10:20:30Z\n", "got a date or time");
  expect_refused("[part]\na = 1\n", "f.toml line 1: part: expected");
  expect_refused("a.b = 1\n", "a: expected a number");
  expect_refused("a = {b = 1}\n", "got a table");
  expect_refused("[[a]]\nb = 1\n", "a: expected");
  expect_refused("a = [[1], [2]]\n", "got a list in a list");
  expect_refused("a = [2020-01-02]\n", "got a date or time");
  expect_refused("a = []\n", "a: expected at least one value");
}

TEST(ConfigEntries, DeepNestingIsRefusedBeforeItIsParsed) {
  constexpr int kDeep = 100000;
  expect_refused("\na = " + repeated("[", kDeep) + repeated("]", kDeep),
                 "f.toml line 2: expected lists of values, got more than 64 "
                 "open brackets");
  expect_refused("a = " + repeated("{a = ", kDeep), "open brackets");
  expect_refused("a" + repeated(".a", kDeep) + " = 1\n",
                 "one of more than 64 parts");
  expect_refused("[a" + repeated(".\"=,\"", kDeep) + "]\n",
                 "one of more than 64 parts");
}

TEST(ConfigEntries, StringsAndCommentsDoNotNest) {
  const std::string brackets = repeated("[", 100) + repeated(".x", 100);
  const auto entries =
      parse("a = \"" + brackets + "\" # " + brackets + "\nb = '" + brackets +
            "'\nc = \"\"\"\\\"\n" + brackets + "\"\"\"\"\nd = '''" + brackets +
            "\n'''\n");
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].values, Values{brackets});
  EXPECT_EQ(entries[1].values, Values{brackets});
  EXPECT_EQ(entries[2].values, Values{"\"\n" + brackets + "\""});
  EXPECT_EQ(entries[3].values, Values{brackets + "\n"});
}

TEST(ConfigEntries, AStringEndsAtItsOwnQuoteAndNotAtAnEscapedOne) {
  const std::string brackets = repeated("[", 100);
  EXPECT_EQ(parse("a = \"\\\"" + brackets + "\"\n").at(0).values,
            Values{"\"" + brackets});
  const auto counted = [&](const std::string& before) {
    expect_refused(before + "b = " + brackets + "\n",
                   "got more than 64 open brackets");
  };
  counted("a = \"\\\\\"\n");
  counted("a = 'c:\\'\n");
  counted("a = \"\"\n");
  counted("a = ''\n");
  counted("a = \"\"\"\"\"\"\n");
  counted("a = \'\'\'\'\'\'\n");
  counted("a = \"\"\"\"\"\"\"\"\n");
  counted("# \"\n");
}

TEST(ConfigEntries, DotsOfManyValuesAreNotThoseOfOneKey) {
  EXPECT_EQ(parse("a = [" + repeated("1.5, ", 100) + "]\n").at(0).values,
            Values(100, "1.5"));
  std::string lines, tables;
  for (int i = 0; i < 100; ++i) {
    lines += "a" + std::to_string(i) + " = 1.5\n";
    tables += "[t.a" + std::to_string(i) + "]\n";
  }
  EXPECT_EQ(parse(lines).size(), 100u);
  expect_refused(tables, "line 1: t: expected a number, text, true or false");
}

TEST(ConfigEntries, OtherLettersBelongIntoTextAndComments) {
  const auto entries = parse(
      "\xEF\xBB\xBF"
      "a = \"\u00c1 \\u00c1\" # \u00c1\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].values, Values{"\u00c1 \u00c1"});
  EXPECT_EQ(parse("'\u00c1' = '~/\u00c1~'\n").at(0).key, "\u00c1");
  EXPECT_EQ(parse("a = '~/\u00c1~7E'\n").at(0).values, Values{"~/\u00c1~7E"});
  const std::string problem = "line 2: expected TOML";
  expect_refused("\na \u00c1 = 1\n", problem);
  expect_refused("\n\u00c1 = 1\n", problem);
  expect_refused("\na = \"\\\u00c1\"\n", problem);
  expect_refused("a = \"\"\"\\\n \u00c1\"\"\"b\n", problem);
  expect_refused("\na = 2\"\u00c1\"\n", problem);
  expect_refused("\na = 0ba.b.'''%'71-1\ufef7 [\n", problem);
  EXPECT_EQ(parse("a = \"\"\"\\\n  b\u00c1\"\"\"\n").at(0).values,
            Values{"b\u00c1"});
}

TEST(ConfigEntries, MessagesHoldNoControlCharacters) {
  expect_refused("\"\\u001b[31m\" = []\n", "line 1: ?[31m: expected");
}

TEST(ConfigEntries, EveryTruncationIsReadOrRefused) {
  const std::string text =
      "a = [1, 2.5, \"x\\u00e9\", true]\nb = \"\"\"y\n\"\"\"\nc = 'z' # end\n";
  ASSERT_EQ(parse(text).size(), 3u);
  for (size_t size = 0; size < text.size(); ++size) {
    try {
      EXPECT_LE(parse(text.substr(0, size)).size(), 3u);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadFormat) << error.what();
    }
  }
}

TEST(ConfigEntries, NumbersThatDoNotFitAndBrokenTextAreRefused) {
  expect_refused("a = 99999999999999999999\n", "line 1: expected TOML");
  expect_refused("a = \"\xff\xfe\"\n",
                 "f.toml: expected TOML: text is not UTF-8");
  expect_refused("a = 2020-01-02T.3:04:05\n", "f.toml: expected TOML");
  expect_refused(std::string("a = 1\n\0\0", 8), "line 2: expected TOML");
}

TEST(ConfigEntries, AFileIsReadUpToItsLargestSize) {
  const TempDir folder;
  const std::string entry = "a = 1\n";
  const auto file = folder.write(
      "c.toml", entry + std::string(kMaxConfigBytes - entry.size(), '\n'));
  EXPECT_EQ(read_config(file).size(), 1u);
  folder.write("c.toml",
               entry + std::string(kMaxConfigBytes + 1 - entry.size(), '\n'));
  expect_error(ErrorKind::kBadFormat, "at most 1048576 bytes, this is larger",
               [&] { read_config(file); });
  expect_error(ErrorKind::kBadFormat, "/dev/zero: expected a configuration",
               [] { read_config("/dev/zero"); });
}

TEST(ConfigEntries, AMissingFileAndAFolderAreSaid) {
  const TempDir folder;
  expect_error(ErrorKind::kNotFound, "none.toml: expected a configuration file",
               [&] { read_config(folder / "none.toml"); });
  expect_error(ErrorKind::kNotFound, "this is a folder",
               [&] { read_config(folder.path()); });
}

}  // namespace
}  // namespace sotta::cli
