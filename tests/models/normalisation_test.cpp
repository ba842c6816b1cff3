#include "sotta/models/normalisation.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

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

}  // namespace
}  // namespace sotta
