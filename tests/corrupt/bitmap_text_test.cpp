#include "corrupt/bitmap_text.h"

#include <set>

#include <gtest/gtest.h>

namespace sotta {
namespace {

// Line by line, '#' where it is black.
std::string picture_of(const std::string& text, int64_t scale = 1) {
  const at::Tensor drawn = draw_text(text, scale).contiguous();
  const auto* pixel = drawn.data_ptr<uint8_t>();
  std::string picture;
  for (int64_t y = 0; y < drawn.size(0); ++y) {
    for (int64_t x = 0; x < drawn.size(1); ++x)
      picture += *pixel++ == 0 ? '#' : '.';
    picture += '\n';
  }
  return picture;
}

TEST(BitmapText, DrawsLettersSideBySide) {
  EXPECT_EQ(picture_of("r2"),
            "####...###..\n"
            "#...#.#...#.\n"
            "#...#.....#.\n"
            "####....##..\n"
            "#.#....#....\n"
            "#..#..#.....\n"
            "#...#.#####.\n");
}

TEST(BitmapText, EveryLetterAndDigitHasItsOwnShape) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::set<std::string> shapes;
  for (const char letter : letters)
    shapes.insert(picture_of(std::string(1, letter)));
  EXPECT_EQ(shapes.size(), letters.size());
  EXPECT_EQ(shapes.count(picture_of(" ")), 0u);
}

TEST(BitmapText, CaseDoesNotMatterAndTheRestIsBlank) {
  EXPECT_EQ(picture_of("Fog"), picture_of("fOG"));
  EXPECT_EQ(picture_of("_"), picture_of(" "));
  EXPECT_EQ(picture_of("\xc3"), picture_of(" "));
  EXPECT_EQ(picture_of(" ").find('#'), std::string::npos);
}

TEST(BitmapText, ScaleEnlargesEveryPixel) {
  EXPECT_EQ(picture_of("i", 2).substr(0, 2 * 13),
            "..######....\n"
            "..######....\n");
}

}  // namespace
}  // namespace sotta
