#include "corrupt/bitmap_text.h"

#include <cctype>
#include <cstring>
#include <vector>

#include <ATen/ops/full.h>

namespace sotta {
namespace {

constexpr int64_t kWidth = 5;  // of a letter; one pixel lies between two
constexpr int64_t kHeight = 7;

// Letters of which a block of the drawing has twelve.
constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr int64_t kPerBlock = 12;

// clang-format off
constexpr const char* kDrawing[3][kHeight] = {
    {
     " ###  ####   ###  ####  ##### #####  ###  #   #  ###    ### #   # #    ",
     "#   # #   # #   # #   # #     #     #   # #   #   #      #  #  #  #    ",
     "#   # #   # #     #   # #     #     #     #   #   #      #  # #   #    ",
     "##### ####  #     #   # ####  ####  # ### #####   #      #  ##    #    ",
     "#   # #   # #     #   # #     #     #   # #   #   #      #  # #   #    ",
     "#   # #   # #   # #   # #     #     #   # #   #   #   #  #  #  #  #    ",
     "#   # ####   ###  ####  ##### #      ###  #   #  ###   ##   #   # #####"},
    {
     "#   # #   #  ###  ####   ###  ####   #### ##### #   # #   # #   # #   #",
     "## ## ##  # #   # #   # #   # #   # #       #   #   # #   # #   # #   #",
     "# # # ##  # #   # #   # #   # #   # #       #   #   # #   # #   #  # # ",
     "# # # # # # #   # ####  #   # ####   ###    #   #   # #   # # # #   #  ",
     "#   # #  ## #   # #     # # # # #       #   #   #   #  # #  # # #  # # ",
     "#   # #  ## #   # #     #  #  #  #      #   #   #   #  # #  ## ## #   #",
     "#   # #   #  ###  #      ## # #   # ####    #    ###    #   #   # #   #"},
    {
     "#   # #####  ###    #    ###   ###     #  #####  ###  #####  ###   ### ",
     "#   #     # #   #  ##   #   # #   #   ##  #     #         # #   # #   #",
     " # #     #  #  ##   #       #     #  # #  ####  #        #  #   # #   #",
     "  #     #   # # #   #     ##    ##  #  #      # ####     #   ###   ####",
     "  #    #    ##  #   #    #        # #####     # #   #   #   #   #     #",
     "  #   #     #   #   #   #     #   #    #  #   # #   #   #   #   #     #",
     "  #   #####  ###   ###  #####  ###     #   ###   ###    #    ###   ### "},
};
// clang-format on

void draw_letter(char letter, uint8_t* corner, int64_t stride) {
  const auto upper =
      static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const char* found = upper == 0 ? nullptr : std::strchr(kLetters, upper);
  if (found == nullptr) return;
  const int64_t place = found - kLetters;
  const int64_t left = place % kPerBlock * (kWidth + 1);
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x)
      if (kDrawing[place / kPerBlock][y][left + x] == '#')
        corner[y * stride + x] = 0;
}

}  // namespace

at::Tensor draw_text(const std::string& text, int64_t scale) {
  const auto count = static_cast<int64_t>(text.size());
  const int64_t width = count * (kWidth + 1);
  const at::Tensor picture = at::full({kHeight, width}, 255, at::kByte);
  for (int64_t i = 0; i < count; ++i)
    draw_letter(text[static_cast<size_t>(i)],
                picture.data_ptr<uint8_t>() + i * (kWidth + 1), width);
  return picture.repeat_interleave(scale, 0).repeat_interleave(scale, 1);
}

}  // namespace sotta
