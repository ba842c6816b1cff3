#include <gtest/gtest.h>

#include "sotta/report/report.h"

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

TEST(MakeReport, SaysWhatItIsMadeFrom) {
  const Report report = make_report({run("tent", "noise", "fog", 0, 60),
                                     run("sotta", "noise", "fog", 0, 80)});
  EXPECT_EQ(report.paragraphs.at(0),
            "2 runs, made by sotta 0.1.0 with LibTorch 1.13.1.");
  ASSERT_EQ(report.sections.size(), 1u);
  EXPECT_EQ(report.sections[0].title, "cifar10, preset clean");
  EXPECT_EQ(report.sections[0].tables.at(0).name, "cifar10/clean/accuracy");
}

TEST(MakeReport, OrderOfTheRecordsDoesNotMatter) {
  const auto a = run("tent", "noise", "fog", 0, 60);
  const auto b = run("sotta", "noise", "snow", 1, 80);
  EXPECT_EQ(to_html(make_report({a, b})), to_html(make_report({b, a})));
  EXPECT_EQ(to_csv(make_report({a, b})), to_csv(make_report({b, a})));
}

}  // namespace
}  // namespace sotta
