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

}  // namespace
}  // namespace sotta
