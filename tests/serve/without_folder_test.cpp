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
  EXPECT_EQ(without_folder("images: no such thing as a://b: c"),
            "images: no such thing as a://b: c");
  EXPECT_EQ(without_folder("redis://127.0.0.1:6379/0: cannot be reached"),
            "the store of streams: cannot be reached");
}

}  // namespace
}  // namespace sotta
