#include "corrupt/filters/box_resize.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Every row counts upwards by `step`.
at::Tensor ramp(int64_t side, int64_t step) {
  return (at::arange(side, at::kLong) * step)
      .to(at::kByte)
      .expand({1, 1, side, side})
      .contiguous();
}

std::vector<int> first_values(const at::Tensor& images, int64_t count) {
  std::vector<int> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(images[0][0][0][i].item<int>());
  return values;
}

// 32 to 20: members {0,1} {2} {3,4} {5} {6,7} {8,9} {10}.
TEST(BoxResize, AveragesWholePixelsWithEqualWeights) {
  const at::Tensor found = box_resize(ramp(32, 4), 20);

  ASSERT_EQ(found.sizes(), (at::IntArrayRef{1, 1, 20, 20}));
  EXPECT_EQ(first_values(found, 7),
            (std::vector<int>{2, 8, 14, 20, 26, 34, 40}));
}

TEST(BoxResize, RepeatsPixelsWhenItEnlarges) {
  EXPECT_EQ(first_values(box_resize(ramp(20, 1), 32), 8),
            (std::vector<int>{0, 0, 1, 2, 2, 3, 4, 4}));
}

TEST(BoxResize, RoundsHalvesUpAfterEachPass) {
  // Rows give (0 + 1) / 2 -> 1 and (0 + 0) / 2 -> 0; their mean is 1 again.
  const at::Tensor image =
      at::tensor({0, 1, 0, 0}, at::kByte).view({1, 1, 2, 2});
  EXPECT_EQ(box_resize(image, 1).item<int>(), 1);
}

TEST(BoxResize, TreatsRowsAndColumnsAlike) {
  const at::Tensor image = ramp(32, 7);
  EXPECT_TRUE(box_resize(image.transpose(2, 3).contiguous(), 24)
                  .equal(box_resize(image, 24).transpose(2, 3)));
}

}  // namespace
}  // namespace sotta
