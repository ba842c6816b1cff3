#include "sotta/core/nearest_name.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

const std::vector<std::string> kKnown = {"model", "method", "memory-gb"};

TEST(NearestName, IsTheOneWithTheFewestChanges) {
  EXPECT_EQ(nearest_name("modle", kKnown), "model");
  EXPECT_EQ(nearest_name("methods", kKnown), "method");
  EXPECT_EQ(nearest_name("memorygb", kKnown), "memory-gb");
  EXPECT_EQ(nearest_name("method", kKnown), "method");
}

// A third of the letters, and one.
TEST(NearestName, IsEmptyWhereTooMuchWouldHaveToChange) {
  EXPECT_EQ(nearest_name("mo", kKnown), "");
  EXPECT_EQ(nearest_name("moel", kKnown), "model");
  EXPECT_EQ(nearest_name("xxdel", kKnown), "model");
  EXPECT_EQ(nearest_name("xxxel", kKnown), "");
  EXPECT_EQ(nearest_name("model", {}), "");
}

}  // namespace
}  // namespace sotta
