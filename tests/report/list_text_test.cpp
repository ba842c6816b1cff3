#include "report/writers/list_text.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(ListText, PartsInTheirOrderWithSomethingBetween) {
  EXPECT_EQ(joined(std::vector<std::string>{"b", "", "a"}), "b, , a");
  EXPECT_EQ(joined(std::set<std::string>{"b", "a"}, "; "), "a; b");
}

TEST(ListText, NothingIsEmpty) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace sotta
