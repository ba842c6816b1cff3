#include "corrupt/filters/border.h"

#include <vector>

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

std::vector<int64_t> indices(Border border) {
  std::vector<int64_t> found;
  for (int64_t position = -9; position < 13; ++position)
    found.push_back(border_index(position, 4, border));
  return found;
}

TEST(Border, FoldsPositionsHoweverFarOutside) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(indices(Border::kNearest), (List{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                             2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(
      indices(Border::kReflect101),
      (List{3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(
      indices(Border::kSymmetric),
      (List{0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3}));
}

TEST(Border, OneSampleIsItsOwnNeighbour) {
  EXPECT_EQ(border_index(5, 1, Border::kReflect101), 0);
  EXPECT_EQ(border_index(-5, 1, Border::kSymmetric), 0);
}

TEST(Border, ExtendsOneDimension) {
  const at::Tensor image = at::tensor({1, 2, 3, 4}, at::kDouble).view({2, 2});

  const at::Tensor wide = extend(image, -1, 1, Border::kNearest);

  EXPECT_TRUE(wide.equal(
      at::tensor({1, 1, 2, 2, 3, 3, 4, 4}, at::kDouble).view({2, 4})));
}

}  // namespace
}  // namespace sotta
