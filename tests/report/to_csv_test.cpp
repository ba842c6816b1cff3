#include <gtest/gtest.h>

#include "tests/report/small_report.h"

namespace sotta {
namespace {

TEST(ToCsv, IsThisText) {
  EXPECT_EQ(to_csv(testing::small_report()),
            "table,row,column,value,std,worst,seeds,paper,difference,covered,"
            "expected,best,text\n"
            "set/clean/x,my_method,A & B,82.26,0.21,82.05,3,82.2,0.06,,,1,\n"
            "set/clean/x,my_method,<C>,,,,,,,,,,\n"
            "set/clean/x,50%,A & B,70,,,1,,,3,15,,\n"
            "set/clean/x,50%,<C>,,,,,,,,,,\"a|b, \"\"c\"\"\"\n");
}

}  // namespace
}  // namespace sotta
