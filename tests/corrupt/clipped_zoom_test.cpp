#include "corrupt/filters/clipped_zoom.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Rows and columns count upwards: what comes out is where it was read.
double first_column(int64_t side, double factor) {
  const at::Tensor ramp =
      at::zeros({side, side}, at::kDouble) + at::arange(side, at::kDouble);
  return ClippedZoom(side, factor)(ramp)[0][0].item<double>();
}

double last_column(int64_t side, double factor) {
  const at::Tensor ramp =
      at::zeros({side, side}, at::kDouble) + at::arange(side, at::kDouble);
  return ClippedZoom(side, factor)(ramp)[0][side - 1].item<double>();
}

TEST(ClippedZoom, FactorOneChangesNothing) {
  const at::Tensor image = at::arange(32 * 32, at::kDouble).view({32, 32});
  EXPECT_TRUE(ClippedZoom(32, 1)(image).equal(image));
}

// Window, first pixel, samples and trim from the published sizes:
// 32 at 1.75: 19, 6, 33, 0; at 2.25: 15, 8, 34, 1; 224 at 2.5: 90, 67, 225, 0.
TEST(ClippedZoom, ReadsTheMiddleWithCornersAligned) {
  EXPECT_DOUBLE_EQ(first_column(32, 1.75), 6);
  EXPECT_DOUBLE_EQ(last_column(32, 1.75), 6 + 31 * (18. / 32));
  EXPECT_DOUBLE_EQ(first_column(32, 2.25), 8 + 14. / 33);
  EXPECT_DOUBLE_EQ(last_column(32, 2.25), 8 + 32 * (14. / 33));
  EXPECT_DOUBLE_EQ(first_column(224, 2.5), 67);
  EXPECT_NEAR(last_column(224, 2.5), 67 + 223 * (89. / 224), 1e-12);
}

// 26 * 1.25 = 32.5 goes to the even 32; a bit more goes to 33.
TEST(ClippedZoom, TheLastBitOfTheFactorDecidesASize) {
  EXPECT_DOUBLE_EQ(last_column(32, 1.25), 3 + 25);
  EXPECT_DOUBLE_EQ(last_column(32, 1.2500000000000002), 3 + 31 * (25. / 32));
}

}  // namespace
}  // namespace sotta
