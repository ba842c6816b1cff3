#include "eval/accuracy_note.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(AccuracyNote, HasTwoDigitsBehindThePoint) {
  EXPECT_EQ(accuracy_note(81.249), "accuracy 81.25 %");
  EXPECT_EQ(accuracy_note(100), "accuracy 100.00 %");
}

}  // namespace
}  // namespace sotta
