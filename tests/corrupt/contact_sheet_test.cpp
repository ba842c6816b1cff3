#include "corrupt/contact_sheet.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "corrupt/bitmap_text.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// Text is 14 pixels high and 12 wide per letter, with four around it and four
// more before the images.
constexpr int64_t kHeader = 14 + 8;
constexpr int64_t kLabels = 12 * 10 + 12;  // "brightness"

at::Tensor images_of(const at::Tensor& sheet) {
  return sheet.slice(1, kHeader).slice(2, kLabels);
}

TensorDataset two_grey_images() {
  return {{at::full({2, 1, 32, 32}, 100, at::kByte), at::zeros({2}, at::kLong)},
          10,
          "grey"};
}

TEST(ContactSheet, HasARowPerKindAndAColumnPerImageAndSeverity) {
  ContactSheet sheet;
  sheet.kinds = {"brightness", "contrast"};
  sheet.severities = {1, 3, 5};
  sheet.images = 2;

  const at::Tensor found =
      to_tensor(make_contact_sheet(two_grey_images(), sheet));

  // Images are enlarged three times and have four white pixels after them.
  ASSERT_EQ(found.sizes(),
            (at::IntArrayRef{3, kHeader + 3 * 100, kLabels + 6 * 100}));
  const at::Tensor images = images_of(found);
  EXPECT_EQ(images[0][50][550].item<int>(), 100);   // clean
  EXPECT_EQ(images[0][150][50].item<int>(), 112);   // brightness 1: + .05
  EXPECT_EQ(images[2][150][450].item<int>(), 138);  // brightness 3: + .15
  EXPECT_EQ(images[1][98][98].item<int>(), 255);    // the gap
}

TEST(ContactSheet, NamesItsRowsAndTheSeveritiesOfItsColumns) {
  ContactSheet sheet;
  sheet.kinds = {"brightness", "contrast"};
  sheet.severities = {1, 3, 5};
  sheet.images = 2;

  const at::Tensor found =
      to_tensor(make_contact_sheet(two_grey_images(), sheet));

  const auto text_at = [&](const std::string& text, int64_t top, int64_t left) {
    const at::Tensor drawn = draw_text(text, 2);
    return found.slice(1, top, top + drawn.size(0))
        .slice(2, left, left + drawn.size(1))
        .equal(drawn.expand({3, -1, -1}));
  };
  EXPECT_TRUE(text_at("severity", 4, 4));
  // Halfway down a row of 100 and in the middle of a column of 100.
  const int64_t rows[] = {kHeader + 43, kHeader + 143, kHeader + 243};
  EXPECT_TRUE(text_at("clean", rows[0], 4));
  EXPECT_TRUE(text_at("brightness", rows[1], 4));
  EXPECT_TRUE(text_at("contrast", rows[2], 4));
  for (const int64_t image : {0, 1})
    for (const int64_t i : {0, 1, 2})
      EXPECT_TRUE(text_at(std::to_string(sheet.severities[i]), 4,
                          kLabels + 300 * image + 100 * i + 44));
}

TEST(ContactSheet, ShowsImagesAsTheirIndicesCorruptThem) {
  ContactSheet sheet;
  sheet.kinds = {"gaussian_noise"};
  sheet.severities = {2};
  sheet.images = 2;
  sheet.options.seed = 6;

  const at::Tensor found =
      to_tensor(make_contact_sheet(two_grey_images(), sheet));

  CorruptionOptions options;
  options.kind = "gaussian_noise";
  options.severity = 2;
  options.seed = 6;
  const at::Tensor expected =
      Corruption(options, 32)
          .apply(two_grey_images().range(0, 2).images, {0, 1});
  // The last row, right of the names.
  const int64_t top = found.size(1) - 100, left = found.size(2) - 200;
  for (const int64_t image : {0, 1}) {
    const at::Tensor shown =
        found[0].narrow(0, top, 96).narrow(1, left + 100 * image, 96);
    EXPECT_TRUE(
        shown.slice(0, 1, 96, 3).slice(1, 1, 96, 3).equal(expected[image][0]))
        << image;
  }
}

TEST(ContactSheet, RefusesMoreImagesThanThereAre) {
  ContactSheet sheet;
  sheet.severities = {1};
  for (const int64_t images : {0, 3}) {
    sheet.images = images;
    testing::expect_error(
        ErrorKind::kInvalid, "1 to 2 images, got " + std::to_string(images),
        [&] { make_contact_sheet(two_grey_images(), sheet); });
  }
  sheet.images = 1;
  sheet.severities.clear();
  testing::expect_error(ErrorKind::kInvalid, "at least one severity",
                        [&] { make_contact_sheet(two_grey_images(), sheet); });
}

}  // namespace
}  // namespace sotta
