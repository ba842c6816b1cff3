#include "models/metadata_number.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(MetadataNumber, IsAWholeNumberWithinItsBounds) {
  TensorFile file;
  EXPECT_FALSE(metadata_number(file, "size", 100, "x"));
  file.metadata["size"] = "100";
  EXPECT_EQ(metadata_number(file, "size", 100, "x"), 100);
  for (const char* text : {"", "0", "101", "-1", "+1", " 1", "1 ", "1.0", "1e1",
                           "ten", "99999999999999999999"}) {
    file.metadata["size"] = text;
    testing::expect_error(
        ErrorKind::kBadFormat,
        "x: metadata size: expected a whole number from 1 to 100, got \"" +
            std::string(text) + "\"",
        [&] { metadata_number(file, "size", 100, "x"); });
  }
}

TEST(MetadataNumber, HeadsThatAreNotSaidAreNone) {
  TensorFile file;
  EXPECT_EQ(metadata_heads(file, "x"), 0);
  file.metadata["heads"] = "6";
  EXPECT_EQ(metadata_heads(file, "x"), 6);
}

}  // namespace
}  // namespace sotta
