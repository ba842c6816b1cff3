#include "data/formats/printable.h"

#include <vector>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Printable, QuotesPlainText) {
  EXPECT_EQ(printable("layer1.0.bn1"), "\"layer1.0.bn1\"");
  EXPECT_EQ(printable(""), "\"\"");
}

TEST(Printable, HidesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\n\x1b[2J\x7f\xc3\xa9"), "\"a??[2J???\"");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable(std::string(80, 'x')), '"' + std::string(80, 'x') + '"');
  EXPECT_EQ(printable(std::string(81, 'x')),
            '"' + std::string(80, 'x') + "...\"");
}

TEST(ShapeText, ListsTheExtents) {
  EXPECT_EQ(shape_text(std::vector<int64_t>{2, 3}), "[2, 3]");
  EXPECT_EQ(shape_text(std::vector<int64_t>{}), "[]");
}

}  // namespace
}  // namespace sotta
