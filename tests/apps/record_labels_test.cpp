#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/stream/scenario.h"

#include "eval/begin_record.h"
#include "report/names.h"

namespace sotta {
namespace {

// Records of before they had labels stand in the same tables.
TEST(RecordLabels, AreThoseThatReportsGiveRecordsWithout) {
  for (const auto& name : method_names())
    EXPECT_EQ(begin_record({"bench", "", name}).method_label,
              method_label(name));
  for (const auto& name : scenario_names())
    EXPECT_EQ(begin_record({"bench", "", "source", name}).scenario_label,
              scenario_label(name));
  for (const auto& name : corruption_names())
    EXPECT_EQ(
        begin_record({"bench", "", "source", "benign", name}).corruption_label,
        corruption_label(name));
}

}  // namespace
}  // namespace sotta
