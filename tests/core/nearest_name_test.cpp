#include "core/nearest_name.h"

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

TEST(NearestName, TheFirstOfSeveralAsNearWins) {
  EXPECT_EQ(nearest_name("bat", {"cat", "rat", "bats"}), "cat");
  EXPECT_EQ(nearest_name("bats", {"cat", "rats", "bats"}), "bats");
}

// Of six letters three may change, of five two: in the middle, at either end,
// as well as letters put in or left out.
TEST(NearestName, EveryKindOfChangeCountsAsOne) {
  EXPECT_EQ(nearest_name("xxxdef", {"abcdef"}), "abcdef");
  EXPECT_EQ(nearest_name("abcxxx", {"abcdef"}), "abcdef");
  EXPECT_EQ(nearest_name("xxxxef", {"abcdef"}), "");
  EXPECT_EQ(nearest_name("abcdef", {"abc"}), "abc");
  EXPECT_EQ(nearest_name("abcdef", {"abcdefghi"}), "abcdefghi");
  EXPECT_EQ(nearest_name("abcdef", {"abcdefghij"}), "");
  EXPECT_EQ(nearest_name("abcde", {"ab"}), "");
}

}  // namespace
}  // namespace sotta
