#include "serve/streams/without_folder.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(WithoutFolder, LeavesTheNameOfAFileAndOtherSentencesAsTheyAre) {
  EXPECT_EQ(without_folder("/srv/state/streams/m/a/0000000001.journal: is cut"),
            "0000000001.journal: is cut");
  EXPECT_EQ(without_folder("state/a: cannot be written: 1/2 is there"),
            "a: cannot be written: 1/2 is there");
  EXPECT_EQ(without_folder("images: 3/4 are wrong"), "images: 3/4 are wrong");
  EXPECT_EQ(without_folder("a/b"), "a/b");
}

}  // namespace
}  // namespace sotta
