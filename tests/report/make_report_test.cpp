#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "sotta/report/report.h"

#include "tests/report/records.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::run;
using testing::with_option;
using testing::with_variant;
using Runs = std::vector<RunRecord>;

// Invented numbers that differ from run to run, the same every time.
class Numbers {
 public:
  double between(double low, double high) {
    state_ = (state_ * 1103515245 + 12345) % 2147483648;
    const auto part = static_cast<double>(state_ / 65536 % 1024) / 1024;
    return low + (high - low) * part;
  }

  std::vector<double> many(size_t count, double low, double high) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(std::round(between(low, high)));
    return values;
  }

 private:
  uint64_t state_ = 1;
};

RunRecord invented(const std::string& method, const std::string& scenario,
                   const std::string& corruption, int64_t seed,
                   Numbers& numbers) {
  RunRecord record =
      run(method, scenario, corruption, seed, numbers.between(40, 90));
  const bool mixed = scenario != "benign";
  record.samples = 107;
  record.foreign = mixed ? 107 : 0;
  record.admitted = static_cast<int64_t>(numbers.between(50, 100));
  record.admitted_foreign = mixed ? 21 + seed : 0;
  record.macro_f1 = record.accuracy - 1.5;
  record.calibration_error = numbers.between(3, 9);
  if (mixed) record.auroc = numbers.between(60, 99);
  if (mixed) record.fpr95 = numbers.between(10, 70);
  record.seconds = numbers.between(2, 9);
  record.adapt_seconds = record.seconds / 4;
  record.images_per_second = 107 / record.seconds;
  record.peak_memory_bytes =
      static_cast<int64_t>(numbers.between(200, 900)) * 1'000'000;
  const double other = mixed ? 32 : 0;
  record.series = {{"accuracy", numbers.many(4, 30, 95)},
                   {"samples", {32, 32, 32, 11}},
                   {"foreign", {other, other, other, other / 4}},
                   {"admitted", numbers.many(4, 4, 32)},
                   {"admitted_foreign", numbers.many(4, 0, other)},
                   {"gradient_norm", numbers.many(4, 1, 9)},
                   {"memory_samples", numbers.many(4, 30, 64)},
                   {"memory_foreign", numbers.many(4, 0, other)},
                   {"confidence_samples", numbers.many(5, 0, 40)},
                   {"confidence_foreign", numbers.many(5, 0, other)},
                   {"predicted_samples", numbers.many(3, 5, 60)},
                   {"predicted_foreign", numbers.many(3, 0, other)}};
  if (method != "tent" && method != "sotta")
    for (const char* name : {"admitted", "memory_samples"})
      record.series.erase(name);
  return record;
}

// Two seeds, with a partial average, a row of one seed and a cell not run; a
// variant, and three options tried out.
Runs many_records() {
  Numbers numbers;
  Runs runs;
  for (const int64_t seed : {0, 2})
    for (const char* scenario : {"benign", "near", "noise"})
      for (const char* corruption : {"fog", "snow"})
        for (const std::string method :
             {"source", "bn_stats", "tent", "sotta", "mine"}) {
          RunRecord one = invented(method, scenario, corruption, seed, numbers);
          const std::string place = std::string(scenario) + corruption;
          if (method == "tent" && place == "nearsnow") continue;
          if (method == "mine" && place[0] == 'n' && seed == 2) continue;
          if (method == "bn_stats" && place[1] == 'o') continue;
          if (method == "sotta") {
            one.options = {{"min_confidence", 0.99},
                           {"learning_rate", 0.01},
                           {"sharpness", true},
                           {"memory", std::string("hus")}};
            RunRecord without =
                invented(method, scenario, corruption, seed, numbers);
            without.options = one.options;
            runs.push_back(with_variant(
                with_option(without, "sharpness", false), "HC + UC (HUS)"));
          }
          runs.push_back(one);
        }
  for (const char* scenario : {"near", "noise"})
    for (const auto& [option, value] :
         std::vector<std::pair<std::string, double>>{{"min_confidence", 0.5},
                                                     {"min_confidence", 0.9},
                                                     {"learning_rate", 0.001},
                                                     {"learning_rate", 1}}) {
      RunRecord tried = invented("sotta", scenario, "fog", 0, numbers);
      tried.options = {{"min_confidence", 0.99},
                       {"learning_rate", 0.01},
                       {"sharpness", true},
                       {"memory", std::string("hus")}};
      tried.options[option] = value;
      tried.variant = option + "=" + to_text(value);
      runs.push_back(tried);
    }
  return runs;
}

// By the file's name.
std::map<std::string, std::string> documents(const Report& report) {
  std::map<std::string, std::string> files = {
      {"report.md", to_markdown(report)}, {"report.csv", to_csv(report)}};
  for (const Section& section : report.sections)
    for (const Figure& figure : section.figures)
      if (!figure.page_only)
        files["figures/" + figure.name + ".svg"] = to_svg(figure);
  return files;
}

// Whatever moves a line, a label or a number shows here. Look at the pictures
// before taking them over: tests/golden/README.md says how.
TEST(MakeReport, TheseRecordsGiveTheseTablesAndFigures) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::golden_dir()) / "report";
  const auto files = documents(make_report(many_records()));
  if (std::getenv("SOTTA_WRITE_GOLDEN") != nullptr) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "figures");
    for (const auto& [name, text] : files)
      std::ofstream(folder / name, std::ios::binary) << text;
  }
  size_t known = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder))
    known += entry.is_regular_file();
  EXPECT_EQ(files.size(), known);
  for (const auto& [name, text] : files)
    EXPECT_TRUE(std::filesystem::exists(folder / name) &&
                testing::read_bytes(folder / name) == text)
        << name;
}

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
