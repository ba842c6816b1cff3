#include "sotta/models/normalisation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(Normalisation, TextAndBackIsTheSame) {
  const std::vector<double> numbers = {0.4914, 1e-3, 2};
  EXPECT_EQ(format_number_list(numbers), "0.4914,0.001,2");
  EXPECT_EQ(parse_number_list("0.4914,0.001,2", "mean"), numbers);
}

TEST(Normalisation, RefusesEverythingElse) {
  for (const char* text : {"", "a", "1,,2", "1 2", "nan", "1,inf"}) {
    EXPECT_THROW(parse_number_list(text, "mean"), Error) << text;
  }
}

TEST(Normalisation, NeedsFiniteMeansAndPositiveDeviations) {
  EXPECT_NO_THROW(check_normalisation({{0, -1}, {1, 0.1}}));
  const double nan = std::nan("");
  for (const Normalisation& bad :
       {Normalisation{{}, {}}, Normalisation{{0, 0}, {1}},
        Normalisation{{nan}, {1}}, Normalisation{{0}, {0}},
        Normalisation{{0}, {-1}}, Normalisation{{0}, {nan}},
        Normalisation{{1e300}, {1}}, Normalisation{{0}, {1e-300}},
        Normalisation{{0}, {1e300}}})
    EXPECT_THROW(check_normalisation(bad), Error);
}

TEST(Normalisation, NamesWhatIsWrong) {
  testing::expect_error(ErrorKind::kInvalid,
                        "--std: expected standard deviations above 0, got -0.5",
                        [] {
                          check_normalisation({{0, 0}, {1, -0.5}}, "--std");
                        });
}

TEST(Normalisation, NeedsANumberForEveryChannel) {
  EXPECT_NO_THROW(check_channels({{0, 0}, {1, 1}}, 2));
  for (const Normalisation& bad :
       {Normalisation{{0}, {1}}, Normalisation{{0, 0, 0}, {1, 1, 1}},
        Normalisation{{0, 0}, {1}}, Normalisation{{0}, {1, 1}}})
    EXPECT_THROW(check_channels(bad, 2), Error);
}

TEST(Normalisation, ARefusedListIsShown) {
  const auto refused = [](const std::string& text, const std::string& found) {
    testing::expect_error(
        ErrorKind::kBadFormat,
        "--mean: expected numbers separated by commas, got " + found,
        [&] { parse_number_list(text, "--mean"); });
  };
  refused("", "nothing");
  for (const char* text : {"a", "1,,2", "1 2", "nan", "1,inf", "1,2x", "-inf"})
    refused(text, std::string("\"") + text + "\"");
  EXPECT_EQ(parse_number_list("-1e-3", "--mean"), std::vector<double>{-1e-3});
}

TEST(Normalisation, SaysWhichNumbersAreMissingOrWrong) {
  const auto refused = [](const Normalisation& bad,
                          const std::string& problem) {
    testing::expect_error(ErrorKind::kInvalid, "normalisation: " + problem,
                          [&] { check_normalisation(bad, "normalisation"); });
  };
  refused({{}, {}},
          "expected as many means as standard deviations, got 0 and 0");
  refused({{0, 0}, {1}},
          "expected as many means as standard deviations, got 2 and 1");
  refused({{0, INFINITY}, {1, 1}}, "expected finite means, got inf");
  refused({{0}, {0}}, "expected standard deviations above 0, got 0");
  testing::expect_error(
      ErrorKind::kInvalid,
      "normalisation: expected a mean and a standard deviation for each of "
      "the network's 2 channels, got 1 and 3",
      [] {
        check_channels({{0}, {1, 1, 1}}, 2);
      });
}

}  // namespace
}  // namespace sotta
