#include "sotta/corrupt/contact_sheet.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/data/tensor.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

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
  ASSERT_EQ(found.sizes(), (at::IntArrayRef{3, 3 * 100, 6 * 100}));
  EXPECT_EQ(found[0][50][550].item<int>(), 100);   // clean
  EXPECT_EQ(found[0][150][50].item<int>(), 112);   // brightness 1: + .05
  EXPECT_EQ(found[2][150][450].item<int>(), 138);  // brightness 3: + .15
  EXPECT_EQ(found[1][98][98].item<int>(), 255);    // the gap
}

TEST(ContactSheet, RefusesMoreImagesThanThereAre) {
  ContactSheet sheet;
  sheet.severities = {1};
  sheet.images = 3;
  testing::expect_error(ErrorKind::kInvalid, "1 to 2 images, got 3",
                        [&] { make_contact_sheet(two_grey_images(), sheet); });
}

}  // namespace
}  // namespace sotta
